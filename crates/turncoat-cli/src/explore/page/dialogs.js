// What is asked in a window of its own: which lie, how long a delay, the name of a fork; and the help sheet.
import { html, useEffect, useRef, useState } from "./vendor/standalone.module.js";
import { api } from "./api.js";
import { filled, typed } from "./forms.js";
import { keys } from "./keys.js";
import { Filter, fits } from "./lists.js";
import { stepOf } from "./model.js";

/** @import { Flying, Lies, Run } from "./types.js" */
/** @import { Commands, View } from "./commands.js" */

/** @param {{ view: View, does: Commands, fail: (error: Error) => void }} props */
export function Dialogs({ view: { dialog, run, at, moment }, does, fail }) {
  if (dialog?.kind === "lie") {
    const liars = moment?.budget.liars ?? [];
    return html`<${LieDialog} message=${dialog.message} run=${run} at=${at} liars=${liars} does=${does} fail=${fail} />`;
  }
  if (dialog?.kind === "delay") return html`<${DelayDialog} message=${dialog.message} does=${does} />`;
  if (dialog?.kind === "fork") return html`<${ForkDialog} run=${run} at=${at} does=${does} />`;
  return dialog && html`<${HelpDialog} does=${does} />`;
}

/** @param {{ title: unknown, does: Commands, children: unknown }} props */
function Window({ title, does, children }) {
  const at = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    at.current?.showModal();
    return () => before?.focus();
  }, []);
  return html`
    <dialog ref=${at} aria-labelledby="dialog-title" onClose=${() => does.set({ dialog: null })}>
      <header><h2 id="dialog-title">${title}</h2><button onClick=${() => at.current?.close()} aria-label="Close">✕</button></header>
      ${children}
    </dialog>`;
}

/** @param {{ message: Flying, run: Run, at: number, liars: string[], does: Commands, fail: (error: Error) => void }} props */
function LieDialog({ message, run, at, liars, does, fail }) {
  const [lies, setLies] = useState(/** @type {Lies | null} */ (null));
  const [filter, setFilter] = useState("");
  useEffect(() => {
    api.lies(run.session, run.run, at, message.name).then(setLies, (error) => {
      does.set({ dialog: null });
      fail(error);
    });
  }, []);
  useEffect(() => /** @type {HTMLElement | null} */ (document.querySelector("dialog input"))?.focus(), [lies]);
  const names = run.lifelines.map(({ name }) => name);
  const title = `What ${names[message.from]} tells ${names[message.to]}`;
  if (!lies) return html`<${Window} title=${title} does=${does}><p>Looking for lies …</p><//>`;
  const act = (/** @type {string} */ action) => {
    does.set({ dialog: null });
    does.act(action);
  };
  const found = lies.lies.filter(({ name, changes }) => fits(filter, `${name} ${changes.map(({ field }) => field).join(" ")}`));
  return html`
    <${Window} title=${title} does=${does}>
      <p><code>${lies.text}</code></p>
      ${lies.honest && html`<${Honest} lies=${lies} liars=${liars} does=${does} />`}
      <${Filter} name="Filter lies" text=${filter} set=${setFilter}><small>${found.length} of ${lies.lies.length}</small><//>
      <ul class="lies">
        ${found.map(({ name, scope, changes, text }) => html`
          <li>
            <button disabled=${lies.honest} data-lie=${name} title=${text} onClick=${() => act(`mutate ${message.name} ${name}`)}>
              <b>${name}</b>${scope === "small" && html` <span class="chip" title="a neighbouring value, or one seen in this run">small</span>`}
              ${changes.map(({ field, was, is }) => html`<span><code>${field}</code> <del>${was}</del> → <ins>${is}</ins></span>`)}
              ${changes.length === 0 && html`<span>${text}</span>`}
            </button>
          </li>`)}
        ${found.length === 0 && html`<li class="empty">No lie matches the filter.</li>`}
      </ul>
      ${!lies.honest && html`<${ByHand} lies=${lies} act=${act} />`}
    <//>`;
}

/** Why nothing can be changed, and what to do about it. @param {{ lies: Lies, liars: string[], does: Commands }} props */
function Honest({ lies: { sender, budget }, liars, does }) {
  const turn = () => {
    does.set({ dialog: null });
    does.liars([...liars, sender]);
  };
  return html`
    <div class="notice">
      <p>${sender} is honest: only a liar's messages can be changed.</p>
      ${budget
        ? html`<button class="primary" onClick=${turn}>Make ${sender} a liar</button>`
        : html`<p>The protocol tolerates no more liars: ${liars.join(", ")} ${liars.length > 1 ? "are" : "is"} Byzantine already.</p>`}
    </div>`;
}

/** @param {{ lies: Lies, act: (action: string) => void }} props */
function ByHand({ lies: { message, fields }, act }) {
  const [field, setField] = useState(fields[0]?.field ?? "");
  const [value, setValue] = useState(fields[0]?.value ?? "");
  if (!fields.length) return null;
  const choose = (/** @type {string} */ name) => {
    setField(name);
    setValue(fields.find((each) => each.field === name)?.value ?? "");
  };
  return html`
    <form onSubmit=${filled(({ field, value }) => act(`edit ${message} ${field} ${value}`))}>
      <h3>Or set a field by hand</h3>
      <label>Field
        <select name="field" onChange=${typed(choose)}>
          ${fields.map((each) => html`<option value=${each.field} selected=${each.field === field}>${each.field}</option>`)}
        </select>
      </label>
      <label>Value <input name="value" value=${value} onInput=${typed(setValue)} required /></label>
      <button class="primary">Set</button>
    </form>`;
}

/** @param {{ message: Flying, does: Commands }} props */
function DelayDialog({ message, does }) {
  const submit = filled(({ ticks }) => {
    does.set({ dialog: null });
    does.act(`delay ${message.name} ${ticks}`);
  });
  return html`
    <${Window} title="Delay a message" does=${does}>
      <p>${message.label}</p>
      <form onSubmit=${submit}>
        <label>Ticks to delay it by <input name="ticks" type="number" min="1" value="500" required autofocus /></label>
        <button class="primary">Delay</button>
      </form>
    <//>`;
}

/** @param {{ run: Run, at: number, does: Commands }} props */
function ForkDialog({ run, at, does }) {
  const submit = filled(({ name }) => {
    does.set({ dialog: null });
    does.forkAs(name);
  });
  return html`
    <${Window} title=${`Fork at step ${stepOf(run, at)}`} does=${does}>
      <p>Starts a new branch with the first ${at} choices of this run. This run is kept.</p>
      <form onSubmit=${submit}>
        <label>Name <input name="name" required autofocus value=${`fork ${run.runs.length}`} /></label>
        <button class="primary">Fork</button>
      </form>
    <//>`;
}

const signs = [
  ["→", "a message that arrived; its colour is that of the value it names"],
  ["⇢", "dashed: in flight"],
  ["✕", "lost, withheld by a liar, or its receiver is down"],
  ["✎", "a lie, and what was changed; a liar"],
  ["◆", "a decision, with the value's letter"],
  ["◷", "a timer fires"],
  ["✖", "a violation; a crash"],
];

/** @param {{ keys: string[] }} props */
const Keys = ({ keys }) =>
  keys.length > 2 ? html`<kbd>${keys[0]}</kbd>…<kbd>${keys[keys.length - 1]}</kbd>` : keys.map((key) => html`<kbd>${key}</kbd> `);

/** @param {{ does: Commands }} props */
const HelpDialog = ({ does }) => html`
  <${Window} title="Keys and signs" does=${does}>
    <div class="sheets">
      <dl class="keys">${keys.map(({ keys, words }) => html`<div><dt><${Keys} keys=${keys.split(" ")} /></dt><dd>${words}</dd></div>`)}</dl>
      <dl class="keys">
        ${signs.map(([sign, words]) => html`<div><dt>${sign}</dt><dd>${words}</dd></div>`)}
        <div><dt>click</dt><dd>an arrow or a row: highlights what led to it and what followed; click its number, or double-click, to go there</dd></div>
      </dl>
    </div>
  <//>`;

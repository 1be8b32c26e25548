// What the page uses of the bundle beside this file, for the checker.
export interface VNode {}
export function html(strings: TemplateStringsArray, ...values: unknown[]): VNode;
export function render(tree: VNode, parent: Element): void;
export class Component<P = {}, S = {}> {
  constructor(props: P);
  props: P;
  state: S;
  setState(state: Partial<S>): void;
}
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export function useRef<T>(initial: T): { current: T };

"""Makes the reference values beside this file: what other people's libraries say.

    python reference.py [R]

Needs scipy, statsmodels and lifelines (from PyPI), and R with the package `survival`; the argument is the
command that starts R. Where two libraries know the same thing, both are asked, and they must agree to the
precision that the file states.
"""

import itertools
import json
import math
import pathlib
import subprocess
import sys

import lifelines
import lifelines.statistics
import lifelines.utils
import numpy
import scipy
import scipy.stats
import statsmodels
from statsmodels.stats import contingency_tables, multitest, proportion

R = sys.argv[1] if len(sys.argv) > 1 else "R"
PRECISION = 1e-9


def ask_r(expressions):
    """The value of each R expression, as a list of floats."""
    lines = ["suppressPackageStartupMessages(library(survival))", "options(warn = -1)"]
    lines += [f'cat(sprintf("%.17g", as.numeric({e})), "\\n")' for e in expressions]
    script = "\n".join(lines)
    command = [R, "--vanilla", "--no-echo", "-f", "/dev/stdin"]
    answer = subprocess.run(command, input=script, capture_output=True, text=True, check=True).stdout
    answers = [[math.nan if w == "NA" else float(w) for w in line.split()] for line in answer.splitlines()]
    assert len(answers) == len(expressions), answer
    return answers


def close(a, b):
    return math.isclose(a, b, rel_tol=PRECISION, abs_tol=1e-300) or (math.isnan(a) and math.isnan(b))


def agree(ours, theirs, what):
    assert len(ours) == len(theirs), (what, ours, theirs)
    for a, b in zip(ours, theirs):
        assert close(a, b), (what, ours, theirs)
    return ours


def vector(numbers):
    return "c(" + ", ".join(repr(n) for n in numbers) + ")"


def versions():
    r = ask_r(
        [
            'unlist(R.version[c("major")])',
            'unlist(strsplit(R.version$minor, "[.]"))',
            'unlist(packageVersion("survival"))',
        ]
    )
    dotted = [".".join(str(int(n)) for n in numbers) for numbers in (r[0] + r[1], r[2])]
    return (
        f"scipy {scipy.__version__}, statsmodels {statsmodels.__version__}, "
        f"lifelines {lifelines.__version__}, R {dotted[0]} with survival {dotted[1]}"
    )


MADE_WITH = versions()


def number(value):
    """Plain floats, and None for what is unknown or infinite."""
    if isinstance(value, (list, tuple)):
        return [number(v) for v in value]
    if isinstance(value, dict):
        return {k: number(v) for k, v in value.items()}
    if isinstance(value, (float, numpy.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, numpy.integer) else value


def write(name, note, cases):
    text = json.dumps({"made with": MADE_WITH, "precision": PRECISION, "note": note}, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(number(case)) for case in cases)
    path = pathlib.Path(__file__).with_name(name + ".json")
    path.write_text(f'{text},\n "cases": [\n{lines}\n ]\n}}\n')
    print(f"{path.name}: {len(cases)} cases")


def rates():
    counts = [
        (0, 1),
        (1, 1),
        (1, 10),
        (5, 10),
        (0, 200),
        (3, 200),
        (12, 200),
        (199, 200),
        (200, 200),
        (0, 1000),
        (60, 1000),
        (3, 10_000),
        (5_000, 10_000),
        (9_999, 10_000),
        (7, 1_000_000),
        (500_000, 1_000_000),
    ]
    inputs = [(k, n, level) for k, n in counts for level in (0.8, 0.95, 0.99)]
    r = ask_r(
        [
            f"{test}({k}, {n}, conf.level = {level}{more})$conf.int"
            for k, n, level in inputs
            for test, more in (("prop.test", ", correct = FALSE"), ("binom.test", ""))
        ]
    )
    cases = []
    for index, (k, n, level) in enumerate(inputs):
        wilson = [
            min(1.0, max(0.0, float(w)))
            for w in proportion.proportion_confint(k, n, alpha=1 - level, method="wilson")
        ]
        # At the ends the formula leaves a rounding error, which R cuts off.
        wilson = [0.0 if k == 0 else wilson[0], 1.0 if k == n else wilson[1]]
        # By the beta distribution: scipy's own exact interval is found by a search that stops at 1e-12.
        exact = [
            0.0 if k == 0 else float(scipy.stats.beta.ppf((1 - level) / 2, k, n - k + 1)),
            1.0 if k == n else float(scipy.stats.beta.isf((1 - level) / 2, k + 1, n - k)),
        ]
        cases.append(
            {
                "hits": k,
                "runs": n,
                "level": level,
                "wilson": agree(wilson, r[2 * index], ("wilson", k, n, level)),
                "clopper_pearson": agree(exact, r[2 * index + 1], ("clopper", k, n, level)),
            }
        )
    write("rates", "wilson: statsmodels and R prop.test; clopper_pearson: scipy beta and R binom.test", cases)


def two_rates():
    tables = [
        (12, 200, 4, 200),
        (60, 1000, 20, 1000),
        (0, 200, 0, 200),
        (0, 200, 5, 200),
        (200, 200, 190, 200),
        (200, 200, 0, 200),
        (1, 10, 9, 11),
        (3, 4, 1, 4),
        (8, 14, 1, 12),
        (10, 10, 0, 1),
        (7, 50, 7, 100),
        (30, 300, 12, 200),
        (100, 10_000, 120, 10_000),
        (5_000, 10_000, 5_100, 10_000),
        (500, 100_000, 700, 120_000),
        (11, 20, 9, 20),
        (2, 1000, 7, 250),
    ]
    inputs = [(*t, level) for t in tables for level in (0.9, 0.95)]
    r = ask_r([f"fisher.test(matrix({vector([a, n - a, b, m - b])}, 2))$p.value" for a, n, b, m, _ in inputs])
    cases = []
    for (a, n, b, m, level), (r_fisher,) in zip(inputs, r):
        difference = proportion.confint_proportions_2indep(
            a, n, b, m, method="newcomb", compare="diff", alpha=1 - level
        )
        # Haldane and Anscombe add to all four counts; `shift_zeros` of statsmodels adds to the zeros alone.
        counts = numpy.array([[a, n - a], [b, m - b]], dtype=float)
        table = contingency_tables.Table2x2(counts + (0.5 if counts.min() == 0 else 0), shift_zeros=False)
        odds = table.oddsratio_confint(alpha=1 - level)
        fisher = scipy.stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
        cases.append(
            {
                "first": [a, n],
                "second": [b, m],
                "level": level,
                "risk_difference": [a / n - b / m, *difference],
                "odds_ratio": [table.oddsratio, *odds],
                "fisher": agree([fisher], [r_fisher], ("fisher", a, n, b, m))[0],
            }
        )
    write(
        "two_rates",
        "risk_difference (value, low, high) and odds_ratio: statsmodels, the latter of counts that have 0.5 "
        "added if one is 0; fisher: scipy and R",
        cases,
    )


def pairs():
    counts = [(0, 0), (0, 5), (1, 5), (7, 7), (10, 25), (120, 80), (3, 40), (1000, 1100), (5, 6)]
    r = ask_r([f"binom.test({a}, {a + b})$p.value" if a + b else "1" for a, b in counts])
    cases = []
    for (a, b), theirs in zip(counts, r):
        p = contingency_tables.mcnemar([[50, a], [b, 60]], exact=True).pvalue if a + b else 1.0
        cases.append(
            {"first_only": a, "second_only": b, "p": agree([float(p)], theirs, ("mcnemar", a, b))[0]}
        )
    write("pairs", "statsmodels mcnemar(exact=True) and R binom.test; nothing to test without a pair", cases)


def samples():
    """Trials as (time, found): two published trials, and some drawn."""
    # Freireich et al. 1963, as in Gehan 1965: weeks of remission with 6-MP and with placebo.
    mp = [
        (6, 1),
        (6, 1),
        (6, 1),
        (6, 0),
        (7, 1),
        (9, 0),
        (10, 1),
        (10, 0),
        (11, 0),
        (13, 1),
        (16, 1),
        (17, 0),
        (19, 0),
        (20, 0),
        (22, 1),
        (23, 1),
        (25, 0),
        (32, 0),
        (32, 0),
        (34, 0),
        (35, 0),
    ]
    placebo = [(t, 1) for t in (1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23)]
    # Miller 1997, R's `aml`: weeks of remission with and without maintenance.
    kept = [(9, 1), (13, 1), (13, 0), (18, 1), (23, 1), (28, 0), (31, 1), (34, 1), (45, 0), (48, 1), (161, 0)]
    left = [
        (5, 1),
        (5, 1),
        (8, 1),
        (8, 1),
        (12, 1),
        (16, 0),
        (23, 1),
        (27, 1),
        (30, 1),
        (33, 1),
        (43, 1),
        (45, 1),
    ]
    draw = numpy.random.default_rng(2024)

    def drawn(size, scale, budget):
        times = [1 + int(t) for t in draw.exponential(scale, size)]
        return [(min(t, budget), int(t <= budget)) for t in times]

    return {
        "freireich": (mp, placebo, 30),
        "aml": (kept, left, 40),
        "budget": (drawn(40, 300, 500), drawn(30, 900, 500), 500),
        "ties": (drawn(60, 4, 12), drawn(50, 6, 12), 12),
        "complete": (drawn(25, 50, 10_000), drawn(25, 70, 10_000), 60),
        "one finds nothing": (drawn(20, 100, 200), [(200, 0)] * 20, 200),
    }


def survival():
    def surv(sample):
        return f"Surv({vector([t for t, _ in sample])}, {vector([f for _, f in sample])})"

    def fit(sample, level):
        return f'survfit({surv(sample)} ~ 1, conf.type = "log-log", conf.int = {level})'

    inputs = [
        (name, side, pair[side], pair[2], level)
        for name, pair in samples().items()
        for side in (0, 1)
        for level in (0.9, 0.95)
    ]
    asked = []
    for _, _, sample, horizon, level in inputs:
        asked += [
            f"{fit(sample, level)}${field}"
            for field in ("time", "n.risk", "n.event", "surv", "lower", "upper")
        ]
        asked.append(f'summary({fit(sample, level)}, rmean = {horizon})$table[c("rmean", "se(rmean)")]')
    answers = iter(ask_r(asked))
    cases = []
    for name, side, sample, horizon, level in inputs:
        time, at_risk, found, share, low, high, mean = (next(answers) for _ in range(7))
        kmf = lifelines.KaplanMeierFitter(alpha=1 - level)
        kmf.fit([t for t, _ in sample], [f for _, f in sample])
        bands = kmf.confidence_interval_survival_function_
        steps = []
        for t, n, d, s, l, u in zip(time, at_risk, found, share, low, high):
            agree([kmf.survival_function_at_times(t).iloc[0]], [s], (name, t))
            # R leaves the band open where the share is 0 or 1.
            if 0 < s < 1:
                agree([float(b) for b in bands.loc[t]], [l, u], (name, t))
            steps.append([int(t), int(n), int(d), s, l, u])
        median = lifelines.utils.median_survival_times(bands).iloc[0]
        area = lifelines.utils.restricted_mean_survival_time(kmf, t=horizon)
        agree([area], mean[:1], (name, "mean"))
        cases.append(
            {
                "name": name,
                "side": side,
                "level": level,
                "horizon": horizon,
                "trials": sample,
                "steps": steps,
                "median": [float(kmf.median_survival_time_), float(median.iloc[0]), float(median.iloc[1])],
                "restricted_mean": mean,
            }
        )
    write(
        "survival",
        "steps (time, at risk, found, survival, low, high): lifelines and R survfit, the band by log-log "
        "and null where R gives none; median: lifelines; restricted_mean (value, error): R, the value by "
        "lifelines too",
        cases,
    )


def two_curves():
    inputs = samples()
    asked = []
    for first, second, _ in inputs.values():
        times, found = zip(*(first + second))
        group = vector([1] * len(first) + [0] * len(second))
        surv = f"Surv({vector(times)}, {vector(found)})"
        asked.append(f"with(survdiff({surv} ~ I(1 - {group})), c(obs[1], exp[1], chisq))")
        asked.append(f"concordance({surv} ~ {group})$count[1:2]")
    answers = iter(ask_r(asked))
    cases = []
    for name, (first, second, _) in inputs.items():
        (observed, expected, chi), (larger, smaller) = next(answers), next(answers)
        test = lifelines.statistics.logrank_test(
            *([t for t, _ in s] for s in (first, second)), *([f for _, f in s] for s in (first, second))
        )
        agree([test.test_statistic], [chi], (name, "log-rank"))
        all_pairs = len(first) * len(second)
        cases.append(
            {
                "name": name,
                "first": first,
                "second": second,
                "observed": int(observed),
                "expected": expected,
                "chi_squared": chi,
                "p": scipy.stats.chi2.sf(chi, 1),
                "a12": (larger + (all_pairs - larger - smaller) / 2) / all_pairs,
            }
        )
    write(
        "two_curves",
        "log-rank: R survdiff and lifelines; a12: from the pairs that R concordance can tell apart",
        cases,
    )


def values():
    draw = numpy.random.default_rng(7)

    def real(size, shift):
        return [round(float(v), 6) for v in draw.normal(shift, 1, size)]

    def whole(size, rate):
        return [float(v) for v in draw.poisson(rate, size)]

    inputs = [
        ([1.0], [2.0]),
        ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]),
        ([1.0, 3.0], [2.0, 4.0, 5.0]),
        (real(8, 0), real(7, 1)),
        (real(20, 0), real(25, 0.4)),
        (real(49, 0.5), real(49, 0)),
        (real(50, 0), real(30, 0.3)),
        (real(200, 0.2), real(150, 0)),
        (whole(12, 3), whole(15, 4)),
        (whole(100, 5), whole(80, 5)),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]),
        ([0.0, 1.0] * 10, [1.0] * 15),
    ]
    r = ask_r([f"with(wilcox.test({vector(x)}, {vector(y)}), c(statistic, p.value))" for x, y in inputs])
    cases = []
    for (x, y), theirs in zip(inputs, r):
        exact = len(x) < 50 and len(y) < 50 and len(set(x + y)) == len(x + y)
        test = scipy.stats.mannwhitneyu(x, y, method="exact" if exact else "asymptotic")
        u, p = agree([float(test.statistic), float(test.pvalue)], theirs, ("mann-whitney", len(x), len(y)))
        cases.append({"first": x, "second": y, "exact": exact, "u": u, "p": p, "a12": u / (len(x) * len(y))})
    write("values", "scipy mannwhitneyu and R wilcox.test", cases)


def a12(x, y):
    return sum((a > b) + 0.5 * (a == b) for a in x for b in y) / (len(x) * len(y))


def bootstrap():
    cases = []
    # Small samples: all resamples, each as likely as the other.
    for x, y in [([1, 2, 5, 9], [1, 3, 4, 6]), ([3, 4, 4, 8], [1, 2, 3, 3, 5]), ([1, 2, 3], [2, 3, 4])]:
        effects = sorted(
            a12(u, v)
            for u in itertools.product(x, repeat=len(x))
            for v in itertools.product(y, repeat=len(y))
        )
        ends = []
        for probability in (0.025, 0.975):
            nearby = {effects[int((probability + off) * len(effects))] for off in (-0.005, 0, 0.005)}
            ends.append(sorted(nearby))
        cases.append(
            {
                "first": x,
                "second": y,
                "value": a12(x, y),
                "low": [ends[0][0], ends[0][-1]],
                "high": [ends[1][0], ends[1][-1]],
            }
        )
    # Larger ones: somebody else's bootstrap, with other random numbers.
    draw = numpy.random.default_rng(3)
    x, y = ([float(v) for v in draw.poisson(rate, size)] for rate, size in ((20, 60), (17, 45)))

    def statistic(u, v):
        return scipy.stats.mannwhitneyu(u, v, method="asymptotic").statistic / (len(u) * len(v))

    interval = scipy.stats.bootstrap(
        (x, y),
        statistic,
        n_resamples=20_000,
        method="percentile",
        vectorized=False,
        rng=numpy.random.default_rng(4),
    ).confidence_interval
    near = 0.004
    cases.append(
        {
            "first": x,
            "second": y,
            "value": a12(x, y),
            "low": [interval.low - near, interval.low + near],
            "high": [interval.high - near, interval.high + near],
        }
    )
    write(
        "bootstrap",
        "where the ends of the 95 % percentile interval must be: by all resamples, give or take 0.5 % of "
        "probability; the last by scipy bootstrap, 20000 resamples, give or take 0.004",
        cases,
    )


def many():
    draw = numpy.random.default_rng(11)
    inputs = [
        [0.01],
        [0.01, 0.04, 0.03, 0.005],
        [0.5, 0.5, 0.9],
        [0.02, 0.02, 0.02],
        [1.0, 0.0],
        [float(p) for p in draw.random(20)],
        [float(p) for p in draw.random(40) ** 4],
    ]
    r = ask_r([f'p.adjust({vector(ps)}, "{method}")' for ps in inputs for method in ("holm", "BH")])
    cases = []
    for index, ps in enumerate(inputs):
        holm, bh = (
            [float(p) for p in multitest.multipletests(ps, method=method)[1]] for method in ("holm", "fdr_bh")
        )
        cases.append(
            {
                "p": ps,
                "holm": agree(holm, r[2 * index], "holm"),
                "benjamini_hochberg": agree(bh, r[2 * index + 1], "BH"),
            }
        )
    write("many", "statsmodels multipletests and R p.adjust", cases)


def power():
    inputs = [
        (first, second, level, power)
        for first, second in [
            (0.1, 0.05),
            (0.05, 0.02),
            (0.02, 0.01),
            (0.01, 0.005),
            (0.06, 0.0),
            (0.5, 0.9),
            (0.001, 0.0005),
        ]
        for level, power in [(0.95, 0.8), (0.99, 0.9)]
    ]
    r = ask_r(
        [
            f"power.prop.test(p1 = {a}, p2 = {b}, sig.level = 1 - {level}, power = {power}, tol = 1e-12)$n"
            for a, b, level, power in inputs
        ]
    )
    cases = []
    for (a, b, level, power), theirs in zip(inputs, r):
        runs = proportion.samplesize_proportions_2indep_onetail(a - b, b, power, alpha=1 - level)
        cases.append(
            {
                "first": a,
                "second": b,
                "level": level,
                "power": power,
                "runs": agree([float(runs)], theirs, ("power", a, b))[0],
            }
        )
    inputs = [
        (0.002, 1000, 0.95, 0.8),
        (0.01, 1000, 0.95, 0.8),
        (0.05, 200, 0.95, 0.8),
        (0.3, 50, 0.99, 0.9),
        (0.001, 10_000, 0.95, 0.9),
    ]
    r = ask_r(
        [
            f"power.prop.test(n = {n}, p1 = {p}, sig.level = 1 - {level}, power = {power}, tol = 1e-14)$p2"
            for p, n, level, power in inputs
        ]
    )
    for (p, n, level, power), (other,) in zip(inputs, r):
        back = proportion.samplesize_proportions_2indep_onetail(other - p, p, power, alpha=1 - level)
        agree([float(back)], [float(n)], ("smallest difference", p, n))
        cases.append(
            {"first": p, "runs": n, "level": level, "power": power, "smallest_difference": other - p}
        )
    write("power", "R power.prop.test and statsmodels samplesize_proportions_2indep_onetail", cases)


for make in (rates, two_rates, pairs, survival, two_curves, values, bootstrap, many, power):
    make()

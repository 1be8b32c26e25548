use std::sync::Arc;
use turncoat_core::rng::run_seed;
use turncoat_core::runner::Runner;
use turncoat_core::scenario::*;
use turncoat_core::sim::Sim;
use turncoat_protocols::pbft::Pbft;

#[test]
fn smoke() {
    let mut s = Scenario::new("pbft");
    Arc::make_mut(&mut s.cluster).clients = 2;
    Arc::make_mut(&mut s.workload).requests = 10;
    let mut sim = Sim::<Pbft>::new();
    for name in SchedulerName::ALL {
        Arc::make_mut(&mut s.scheduler).name = name;
        let mut bad = 0;
        let mut marks = [0; 6];
        let mut steps = 0;
        let mut delays = 0;
        let n = 5000;
        for i in 0..n {
            s.seed = Seed(run_seed(1, i));
            let o = sim.execute(&s).unwrap();
            for m in 0..6 {
                marks[m] += (o.marks >> m) & 1;
            }
            steps += o.steps;
            delays += u64::from(o.calm);
            if !o.violations.is_empty() {
                bad += 1;
                if bad <= 3 {
                    println!("{name:?} {i} {:?} {:?}", o.violations, o.end);
                    if bad == 1 {
                        let (_, r) = sim.record(&s).unwrap();
                        let l = r.events.len();
                        for e in r.events.iter().skip(l.saturating_sub(60)) {
                            println!("{e}");
                        }
                    }
                }
            }
        }
        println!("{name:?}: bad {bad} marks {marks:?} steps/run {} calm {delays}", steps / n);
    }
}

// Collections of the standard library and a permutation puzzle (fannkuch), compiled with debug information.
use std::collections::{BTreeMap, HashMap};

fn fannkuch(n: usize) -> (i32, i32) {
    let mut order: Vec<usize> = (0..n).collect();
    let mut count = vec![0usize; n];
    let (mut checksum, mut most, mut sign) = (0i32, 0i32, 1i32);
    loop {
        let mut pancakes = order.clone();
        let mut flips = 0;
        while pancakes[0] != 0 {
            let top = pancakes[0];
            pancakes[..=top].reverse();
            flips += 1;
        }
        most = most.max(flips);
        checksum += sign * flips;
        sign = -sign;
        let mut i = 1;
        loop {
            if i == n {
                return (checksum, most);
            }
            order[..=i].rotate_left(1);
            count[i] += 1;
            if count[i] <= i {
                break;
            }
            count[i] = 0;
            i += 1;
        }
    }
}

fn histogram(text: &str) -> BTreeMap<String, usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts.into_iter().map(|(word, count)| (word.to_uppercase(), count)).collect()
}

fn main() {
    let started = std::time::Instant::now();
    let text: String = (0..20_000u64).map(|n| format!("w{} ", n * 7919 % 1013)).collect();
    let mut sum = 0;
    while started.elapsed().as_secs() < 900 {
        sum += fannkuch(7).0 as usize + histogram(&text).len();
    }
    println!("{sum}");
}

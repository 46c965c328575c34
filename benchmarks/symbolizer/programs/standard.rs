//! Much of Rust's standard library in one program: collections, iterators, formatting, threads, files.
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{mpsc, Arc, Mutex, RwLock};

fn tally<K: Hash + Eq + Ord + Clone + Debug, V: Copy + Ord + std::ops::Add<Output = V> + Default + Display>(
    keys: &[K],
    values: &[V],
) -> String {
    let mut grouped: HashMap<K, Vec<V>> = HashMap::new();
    let mut ordered: BTreeMap<K, V> = BTreeMap::new();
    for (key, value) in keys.iter().zip(values.iter().cycle()) {
        grouped.entry(key.clone()).or_default().push(*value);
        let sum = ordered.entry(key.clone()).or_default();
        *sum = *sum + *value;
    }
    for group in grouped.values_mut() {
        group.sort();
        group.sort_unstable_by(|a, b| b.cmp(a));
        group.dedup();
    }
    let distinct: HashSet<&K> = keys.iter().collect();
    let sorted: BTreeSet<&K> = distinct.iter().copied().collect();
    let mut heap: BinaryHeap<V> = values.iter().copied().collect();
    let mut line: VecDeque<V> = values.iter().rev().copied().collect();
    line.rotate_left(values.len() / 2);
    format!(
        "{:?} {} {} {:?} {}",
        ordered.keys().next(),
        distinct.len(),
        sorted.len(),
        grouped.len(),
        heap.pop().unwrap_or_default() + line.pop_front().unwrap_or_default()
    )
}

trait Shape {
    fn area(&self) -> f64;
}
struct Polygon<const N: usize>(f64);
impl<const N: usize> Shape for Polygon<N> {
    fn area(&self) -> f64 {
        N as f64 * self.0 * self.0 / (4.0 * (std::f64::consts::PI / N as f64).tan())
    }
}

fn serve() -> std::io::Result<usize> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let client = std::thread::spawn(move || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        writeln!(stream, "hello {}", address)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    let (stream, peer) = listener.accept()?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    write!(&stream, "{}", line.to_uppercase().trim().replace("HELLO", &peer.to_string()))?;
    drop(stream);
    Ok(client.join().expect("the client ends")?.len())
}

fn main() {
    let names: Vec<String> = std::env::args().chain((0..50).map(|n| format!("{n:>8}"))).collect();
    let numbers: Vec<u64> = names.iter().filter_map(|name| name.trim().parse().ok()).collect();
    let wide: Vec<i128> = numbers.iter().map(|n| i128::from(*n) << 3).collect();
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::new((Mutex::new(Vec::new()), RwLock::new(names.clone())));
    let threads: Vec<_> = (0..4)
        .map(|turn: usize| {
            let (sender, shared, numbers, wide) = (sender.clone(), shared.clone(), numbers.clone(), wide.clone());
            std::thread::spawn(move || {
                let held = shared.1.read().unwrap();
                shared.0.lock().unwrap().push(tally(&held, &numbers));
                sender.send((turn, tally(&wide, &numbers) + &tally(&numbers, &wide))).unwrap();
            })
        })
        .collect();
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let shapes: Vec<Box<dyn Shape>> =
        vec![Box::new(Polygon::<3>(1.0)), Box::new(Polygon::<4>(2.0)), Box::new(Polygon::<6>(3.0))];
    let area: f64 = shapes.iter().map(|shape| shape.area()).sum();
    let said: Vec<String> = receiver.iter().map(|(turn, text)| format!("{turn}: {text}")).collect();
    let served = serve().map_err(|error| error.to_string());
    let listed = std::fs::read_dir(".").map(|entries| entries.flatten().count()).unwrap_or(0);
    println!("{area:.3} {served:?} {listed} {}", said.join("\n"));
}

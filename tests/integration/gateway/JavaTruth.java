// Threads that run known calls: interpreted, compiled, inlined, recursive, in stubs and in native code. Who may call
// whom is in java_truth.py.
import java.util.*;
public class JavaTruth {
    static volatile long sink;
    static volatile boolean stop;
    interface Shape { long area(int n); }
    static final class Circle implements Shape { public long area(int n) { return JavaTruth.circleLeaf(n); } }
    static final class Square implements Shape { public long area(int n) { return JavaTruth.squareLeaf(n); } }
    static long circleLeaf(int n) { long s = 0; for (int i = 0; i < 200; i++) s += i * n ^ s; return s; }
    static long squareLeaf(int n) { long s = 1; for (int i = 0; i < 200; i++) s = s * 31 + i; return s; }
    // compiled and inlined
    static long inlineTop(int n) { return inlineMid(n) + 1; }
    static long inlineMid(int n) { return inlineLeaf(n) + inlineLeaf(n + 1); }
    static long inlineLeaf(int n) { long s = 0; for (int i = 0; i < 50; i++) s += (s << 1) ^ (i * n); return s; }
    static void compiledLoop() { long s = 0; Shape[] shapes = { new Circle(), new Square() };
        for (int i = 0; i < 2000; i++) { s += inlineTop(i); s += shapes[i & 1].area(i); } sink = s; }
    // deep recursion
    static long deep(int n) { if (n == 0) return deepLeaf(); return deep(n - 1) + n; }
    static long deepLeaf() { long s = 0; for (int i = 0; i < 3000; i++) s = s * 7 + i; return s; }
    static void recursionLoop() { long s = 0; for (int i = 0; i < 50; i++) s += deep(60); sink = s; }
    // native
    static void copyLoop() { byte[] a = new byte[1 << 16], b = new byte[1 << 16]; for (int i = 0; i < 200; i++) { System.arraycopy(a, 0, b, 0, a.length); b[i] = (byte) i; System.arraycopy(b, 1, a, 0, a.length - 1);} sink = a[3]; }
    static void allocLoop() { long s = 0; for (int i = 0; i < 3000; i++) { byte[] x = new byte[128 + (i & 1023)]; s += x.length; HELD[i & 255] = x; } sink = s; }
    static final byte[][] HELD = new byte[256][];
    static void nativeLoop() { long s = 0; java.util.zip.CRC32 c = new java.util.zip.CRC32(); java.util.zip.Deflater d = new java.util.zip.Deflater(); byte[] in = new byte[20000]; for (int i = 0; i < in.length; i++) in[i] = (byte) (i * i >> 3); d.setInput(in); d.finish(); byte[] out = new byte[30000]; s += d.deflate(out); d.end(); sink = s; }
    static void lambdaLoop() { long s = 0; for (int i = 0; i < 300; i++) { int k = i; java.util.function.IntUnaryOperator f = x -> lambdaLeaf(x + k); s += f.applyAsInt(i); } sink = s; }
    static int lambdaLeaf(int x) { int s = x; for (int i = 0; i < 100; i++) s = s * 3 + i; return s; }
    static void sortLoop() { Integer[] a = new Integer[1000]; for (int i = 0; i < a.length; i++) a[i] = (i * 7919) % 1000; Arrays.sort(a, JavaTruth::compare); sink = a[5]; }
    static int compare(Integer x, Integer y) { return x < y ? -1 : x > y ? 1 : 0; }
    // interpreted, if -XX:CompileCommand=exclude,JavaTruth::interpreted* says so
    static long interpretedOuter(int n) { return interpretedInner(n) + 1; }
    static long interpretedInner(int n) { long s = 0; for (int i = 0; i < 100; i++) s += interpretedLeaf(i); return s; }
    static long interpretedLeaf(int n) { long s = n; s = s * 3 + 1; s ^= n; s += s >> 2; return s; }
    static void interpretedLoop() { long s = 0; for (int i = 0; i < 30; i++) s += interpretedOuter(i); sink = s; }
    static synchronized void lockedLoop() { long s = 0; for (int i = 0; i < 20000; i++) s += i ^ s; sink = s; }
    interface Work { void run(); }
    static Thread start(String name, final Work w) { Thread t = new Thread(new Runnable() { public void run() { while (!stop) w.run(); } }, name); t.setDaemon(true); t.start(); return t; }
    public static void main(String[] args) throws Exception {
        double seconds = Double.parseDouble(args[0]);
        start("compiled", new Work() { public void run() { compiledLoop(); } });
        start("recursion", new Work() { public void run() { recursionLoop(); } });
        start("copy", new Work() { public void run() { copyLoop(); } });
        start("alloc", new Work() { public void run() { allocLoop(); } });
        start("native", new Work() { public void run() { nativeLoop(); } });
        start("lambda", new Work() { public void run() { lambdaLoop(); } });
        start("sort", new Work() { public void run() { sortLoop(); } });
        start("interp", new Work() { public void run() { interpretedLoop(); } });
        start("locked", new Work() { public void run() { lockedLoop(); } });
        System.out.println("ready"); System.out.flush();
        Thread.sleep((long) (seconds * 1000)); stop = true;
    }
}

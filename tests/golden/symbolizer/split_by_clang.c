static inline __attribute__((always_inline)) int square(int x) { return x * x + 1; }
__attribute__((noinline)) int work(int n)
{
    int sum = 0;
    while (n--)
        sum ^= square(n) + square(sum);
    return sum;
}
__attribute__((section(".text.other"), noinline)) int rest(int n) { return square(n) / 3; }
int main(int argc, char **argv) { return (work(argc) + rest(argc)) & 1; }

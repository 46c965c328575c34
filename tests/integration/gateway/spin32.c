/* A 32-bit program without any library. */
void _start(void)
{
    volatile unsigned sink = 0;
    for (;;)
        sink = sink * 2654435761u + 1;
}

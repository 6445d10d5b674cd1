// Loops of each kind: counted backwards, left early, nested, endless.
extern "C" __global__ void loops(int *x, int n)
{
    int s = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (x[i] == 7)
            continue;
        if (x[i] < 0)
            break;
        int j = 0;
        do {
            s += j * x[i];
        } while (++j < x[i]);
    }
#pragma unroll 1
    for (int i = 0; i < n; i += 3)
        s ^= x[i] << 2;
    while (1) {
        s = s * 1103515245 + 12345;
        if ((s & 0xff) == 0)
            break;
    }
    x[n] = s;
}

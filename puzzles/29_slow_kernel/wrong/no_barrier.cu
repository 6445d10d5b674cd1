// rejected: race: the tile is read while others write it
__global__ void pictures(int n, float *out, const float *a)
{
    __shared__ float tile[32][33];
    int x = threadIdx.x, y = threadIdx.y, down = blockIdx.y * 32, right = blockIdx.x * 32;
    float *to = out + blockIdx.z * n * n;

    if (blockIdx.z == 0) { // mirrored
        int row = down + y, col = right + x;
        if (row < n && col < n)
            to[row * n + col] = a[row * n + n - 1 - col];
    } else if (blockIdx.z == 1) { // transposed, through a tile
        if (right + y < n && down + x < n)
            tile[y][x] = a[(right + y) * n + down + x];
        if (down + y < n && right + x < n)
            to[(down + y) * n + right + x] = tile[x][y];
    } else if (blockIdx.z == 2) { // interleaved
        int row = down + y, col = right + x;
        if (row < n && col < n)
            to[row * n + col] = a[row * 7 % n * n + col] + a[row * n];
    } else { // neighbours
        int row = down + y, col = right + x;
        if (row < n && col < n)
            to[row * n + col] = a[row * n + col] + (row + 1 < n ? a[(row + 1) * n + col] : 0);
    }
}

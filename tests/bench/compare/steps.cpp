// Steps of equal work, marked by NVTX: a product of matrices, by rows on several threads, repeated within a step so that
// its threads wait for each other, as those of PyTorch do.
// usage: steps THREADS STEPS SIZE PRODUCTS

#include <nvtx3/nvToolsExt.h>
#include <omp.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

void multiply(const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c, int n)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) {
            const float factor = a[static_cast<std::size_t>(i * n + k)] / static_cast<float>(2 * n);
            for (int j = 0; j < n; ++j)
                c[static_cast<std::size_t>(i * n + j)] += factor * b[static_cast<std::size_t>(k * n + j)];
        }
}

} // namespace

int main(int argc, char** argv)
{
    if (argc != 5)
        return std::fputs("usage: steps THREADS STEPS SIZE PRODUCTS\n", stderr), 2;
    omp_set_num_threads(std::atoi(argv[1]));
    const int n = std::atoi(argv[3]);
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    std::vector<float> a(size, 1);
    std::vector<float> b(size, 2);
    std::vector<float> c(size);
    for (int step = 0; step < std::atoi(argv[2]); ++step) {
        nvtxRangePushA("step");
        for (int product = 0; product < std::atoi(argv[4]); ++product) {
            multiply(a, b, c, n);
            std::swap(a, c);
        }
        nvtxRangePop();
    }
    std::printf("%g\n", static_cast<double>(a[0]));
}

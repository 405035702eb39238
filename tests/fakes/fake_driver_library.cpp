// CUDA's driver of version FAKE_DRIVER_VERSION (13000) with FAKE_GPUS (1) GPUs, of which only the facts can be asked for.
#include <cstdlib>

extern "C" {

int cuInit(unsigned /*flags*/)
{
    return 0;
}
int cuDriverGetVersion(int* version)
{
    const char* const told = std::getenv("FAKE_DRIVER_VERSION");
    *version = told ? std::atoi(told) : 13000;
    return 0;
}
int cuDeviceGetCount(int* count)
{
    const char* const gpus = std::getenv("FAKE_GPUS");
    *count = gpus ? std::atoi(gpus) : 1;
    return 0;
}
int cuDeviceGet(int* device, int ordinal)
{
    *device = ordinal;
    int count = 0;
    cuDeviceGetCount(&count);
    return ordinal < count ? 0 : 101;
}
int cuDeviceGetUuid(unsigned char* uuid, int device)
{
    for (unsigned char i = 0; i < 16; ++i)
        uuid[i] = static_cast<unsigned char>(i + device);
    return 0;
}
}

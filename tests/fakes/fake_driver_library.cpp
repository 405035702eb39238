// CUDA's driver with one GPU, of which only the facts can be asked for.
extern "C" {

int cuInit(unsigned /*flags*/)
{
    return 0;
}
int cuDeviceGetCount(int* count)
{
    *count = 1;
    return 0;
}
int cuDeviceGet(int* device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? 0 : 101;
}
int cuDeviceGetUuid(unsigned char* uuid, int /*device*/)
{
    for (unsigned char i = 0; i < 16; ++i)
        uuid[i] = i;
    return 0;
}
}

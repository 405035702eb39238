// Management library of a driver with two GPUs: the first has 18 NVLinks, two of them inactive, the second has none.
#include <cstdint>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr unsigned kLinks = 18;
constexpr unsigned kSpeedField = 90;

struct Field {
    unsigned field;
    unsigned scope;
    long long timestamp;
    long long latency;
    unsigned type;
    int status;
    unsigned value;
    unsigned rest;
};

int gpus[2] = {0, 1};

} // namespace

extern "C" {

int nvmlInit_v2()
{
    return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count)
{
    *count = 2;
    return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device)
{
    if (index > 1)
        return kInvalidArgument;
    *device = &gpus[index];
    return kSuccess;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* isActive)
{
    if (device != &gpus[0] || link >= kLinks)
        return kNotSupported;
    *isActive = link < kLinks - 2 ? 1 : 0;
    return kSuccess;
}

int nvmlDeviceGetFieldValues(void* device, int count, Field* fields)
{
    for (int i = 0; i < count; ++i) {
        const bool isKnown = device == &gpus[0] && fields[i].field == kSpeedField;
        fields[i].status = isKnown ? kSuccess : kNotSupported;
        fields[i].value = isKnown ? 26'562 : 0;
    }
    return kSuccess;
}

} // extern "C"

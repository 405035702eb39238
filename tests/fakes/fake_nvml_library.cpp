// Management library of a driver with two GPUs. The first has 18 NVLinks, two of them inactive, and counts of bytes, of which
// that of PCIe has 32 bits and is about to start again at 0. The second has neither; its power cannot be read after the first
// time, and its clocks are limited by its power.
#include <cstdint>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr unsigned kLinks = 18;
constexpr unsigned kSpeedField = 90;
constexpr unsigned kNvlinkSent = 138;
constexpr unsigned kNvlinkReceived = 139;
constexpr unsigned kPower = 186;
constexpr unsigned kPcieSent = 197;
constexpr unsigned kPcieReceived = 198;
constexpr unsigned kAllLinks = ~0U;
constexpr unsigned kUnsignedInt = 1;
constexpr unsigned kUnsignedLongLong = 3;

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
unsigned long long readings = 0; // of fields of the first GPU
int powerReadings = 0;           // of the second GPU

// The value of a field of the first GPU; false if it does not have it.
bool readField(Field& field)
{
    constexpr unsigned kBeforeWrap = 0xFFFF'FF00 - 3 * 4096;
    field.type = kUnsignedInt;
    switch (field.field) {
    case kSpeedField:
        field.value = 26'562;
        return true;
    case kPower:
        field.value = 412'345;
        return true;
    case kPcieReceived:
        field.value = kBeforeWrap + static_cast<unsigned>(readings * 4096);
        return true;
    case kPcieSent:
        field.value = kBeforeWrap;
        return true;
    case kNvlinkSent:
    case kNvlinkReceived:
        field.type = kUnsignedLongLong;
        field.value = static_cast<unsigned>(readings * 1024);
        field.rest = 7; // many bytes since the driver was loaded
        return field.scope == kAllLinks;
    default:
        return false;
    }
}

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
    ++readings;
    for (int i = 0; i < count; ++i)
        fields[i].status = device == &gpus[0] && readField(fields[i]) ? kSuccess : kNotSupported;
    return kSuccess;
}

int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* value)
{
    constexpr unsigned kSm = 1;
    *value = clock != kSm ? 2'619 : device == &gpus[0] ? 1'980 : 1'200;
    return kSuccess;
}

int nvmlDeviceGetTemperature(void*, int, unsigned* value)
{
    *value = 61;
    return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void*, unsigned* rates)
{
    rates[0] = 97;
    rates[1] = 34;
    return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* value)
{
    *value = 350'000;
    return device == &gpus[1] && powerReadings++ == 0 ? kSuccess : kNotSupported;
}

int nvmlDeviceGetPcieThroughput(void*, unsigned direction, unsigned* value)
{
    *value = direction == 0 ? 300 : 200;
    return kSuccess;
}

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons)
{
    constexpr unsigned long long kPowerCap = 0x04;
    *reasons = device == &gpus[0] ? 0 : kPowerCap;
    return kSuccess;
}

} // extern "C"

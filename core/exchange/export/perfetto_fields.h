#pragma once

#include <cstdint>

/// Field numbers of Perfetto's trace format (protos/perfetto/trace/**), as far as Tilescope writes them.
namespace tilescope::exchange::perfetto {

namespace trace {
inline constexpr std::uint32_t kPacket = 1;
}

namespace packet {
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequenceId = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kRenderStageEvent = 53;
inline constexpr std::uint32_t kTrackDescriptor = 60;
inline constexpr std::uint32_t kFirstOnSequence = 87;
inline constexpr std::uint32_t kGpuInfo = 128;
} // namespace packet

namespace sequence_flag {
inline constexpr std::uint32_t kStateCleared = 1;
inline constexpr std::uint32_t kNeedsState = 2;
} // namespace sequence_flag

/// Each of them is a repeated message that begins with iid and name.
namespace interned {
inline constexpr std::uint32_t kCategories = 1;
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kGraphicsContexts = 23;
inline constexpr std::uint32_t kGpuSpecifications = 24;
inline constexpr std::uint32_t kAnnotationStrings = 29;
inline constexpr std::uint32_t kComputeKernels = 1000; // GPU extensions
inline constexpr std::uint32_t kComputeArgNames = 1001;
inline constexpr std::uint32_t kIid = 1;
inline constexpr std::uint32_t kName = 2;
} // namespace interned

namespace graphics_context {
inline constexpr std::uint32_t kPid = 2;
inline constexpr std::uint32_t kApi = 3;
inline constexpr std::int32_t kCuda = 4;
} // namespace graphics_context

namespace specification {
inline constexpr std::uint32_t kDescription = 3;
inline constexpr std::uint32_t kCategory = 4;
inline constexpr std::int32_t kOther = 0;
inline constexpr std::int32_t kCompute = 2;
} // namespace specification

namespace track_descriptor {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kThread = 4;
inline constexpr std::uint32_t kParent = 5;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kProcessPid = 1;
inline constexpr std::uint32_t kProcessCommandLine = 2;
inline constexpr std::uint32_t kProcessName = 6;
inline constexpr std::uint32_t kProcessLabels = 8;
inline constexpr std::uint32_t kThreadPid = 1;
inline constexpr std::uint32_t kThreadTid = 2;
inline constexpr std::uint32_t kThreadName = 5;
inline constexpr std::uint32_t kCounterUnit = 3;
inline constexpr std::uint32_t kCounterUnitName = 6;
inline constexpr std::int32_t kUnitBytes = 3;
} // namespace track_descriptor

namespace track_event {
inline constexpr std::uint32_t kCategoryIid = 3;
inline constexpr std::uint32_t kAnnotation = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrackUuid = 11;
inline constexpr std::uint32_t kCounterValue = 30;
inline constexpr std::uint32_t kDoubleCounterValue = 44;
inline constexpr std::uint32_t kGpuCorrelation = 3000; // GPU extension
inline constexpr std::uint32_t kSubmittedEvents = 1;   // of a GpuCorrelation
inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounterType = 4;
} // namespace track_event

namespace annotation {
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kUint = 3;
inline constexpr std::uint32_t kInt = 4;
inline constexpr std::uint32_t kStringIid = 17;
} // namespace annotation

namespace render_stage {
inline constexpr std::uint32_t kEventId = 1;
inline constexpr std::uint32_t kDuration = 2;
inline constexpr std::uint32_t kContext = 5;
inline constexpr std::uint32_t kExtraData = 6;
inline constexpr std::uint32_t kGpuId = 11;
inline constexpr std::uint32_t kQueueIid = 13;
inline constexpr std::uint32_t kStageIid = 14;
inline constexpr std::uint32_t kKernelIid = 19;
inline constexpr std::uint32_t kNameIid = 20;
inline constexpr std::uint32_t kLaunch = 21;
inline constexpr std::uint32_t kExtraName = 1;
inline constexpr std::uint32_t kExtraValue = 2;
inline constexpr std::uint32_t kGridSize = 1;
inline constexpr std::uint32_t kWorkgroupSize = 2;
inline constexpr std::uint32_t kLaunchArgs = 3;
inline constexpr std::uint32_t kArgNameIid = 1;
inline constexpr std::uint32_t kArgUint = 4;
} // namespace render_stage

namespace gpu_info {
inline constexpr std::uint32_t kGpus = 1;
inline constexpr std::uint32_t kName = 1;
inline constexpr std::uint32_t kUuid = 5;
} // namespace gpu_info

} // namespace tilescope::exchange::perfetto

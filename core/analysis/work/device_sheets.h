#pragma once

#include "core/analysis/work/roofline.h"
#include "core/model/spec.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The precision of the values that a kernel multiplies, where its short name has one: fp8, bf16, fp16, tf32, fp32.
std::optional<Precision> precisionInName(std::string_view shortName);

/// What a data sheet promises of one device.
struct DeviceSheet {
    std::string name;
    std::vector<std::string> match = {};    ///< words that must all occur in the driver's name of the device
    std::map<Precision, double> flops = {}; ///< FLOP/s of dense matmuls, without sparsity
    std::optional<double> bytes = {};       ///< B/s of its memory
    std::optional<double> clock = {};       ///< Hz of the multiprocessors at which flops hold
    std::optional<double> link = {};        ///< B/s that the device sends to other GPUs over NVLink
    std::string capability = {};            ///< CUDA's compute capability: 9.0
    int multiprocessors = 0;                ///< 0: unknown
    std::string source = {};

    Ceilings ceilings(Precision precision) const;
};

/// The data sheets in resources/devices.yaml; the head of that file describes the format. Immutable; any
/// thread.
class DeviceSheets {
public:
    /// \throws Error  the file is missing, is not YAML or has an invalid entry
    static DeviceSheets load(const std::filesystem::path& file);

    /// The sheets in Tilescope's resources, loaded on first use.
    static const DeviceSheets& standard();

    /// The sheet with the most words in the name that the driver reports (`NVIDIA H200`); nullptr if none
    /// matches. O(sheets).
    const DeviceSheet* find(std::string_view driverName) const;

    const std::vector<DeviceSheet>& all() const { return sheets_; }

private:
    std::vector<DeviceSheet> sheets_;
};

} // namespace tilescope::analysis

#pragma once

#include "core/base/ids.h"
#include "core/model/rank_info.h"
#include "core/model/spec.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {

/// A point that the supervisor sends to the engine, one line of JSON: {"index", "of", "params"}, and for one of
/// several ranks "rankInfo": {"rank", "size", "group", "memory", "timeout", "node", "local_rank", "local_size"}, with several nodes also
/// "hub": {"hosts", "port", "secret"}.
struct PointLine {
    std::int64_t index = 0;
    std::int64_t of = 0;
    ExperimentSpec spec;
    std::optional<RankInfo> rankInfo = {};
};

/// Notifies rank 0 that the other ranks have ended the point, with the locations of their runs: {"join":
/// [{"rank", "node", "local_rank", "pid", "file", "run"}]}.
struct JoinLine {
    struct Rank {
        int rank = 0;
        int node = 0;         ///< as RankInfo::node
        int localRank = 0;    ///< as RankInfo::localRank
        std::int64_t pid = 0; ///< on another node: that of srun
        std::filesystem::path file;
        RunId run;
    };
    std::vector<Rank> ranks;
};

std::string joinLine(const JoinLine& join); ///< without the line break
/// None if the line is another request.
/// \throws Error  a field is missing
std::optional<JoinLine> parseJoinLine(std::string_view line);

/// `auto`, `cpu`, `cuda`, `cuda:1`.
/// \throws Error  the word is not a device
DeviceRequest deviceFrom(std::string_view word);

/// A request to measure the ceilings of a device, one line of JSON: {"ceilings": "cuda:0"}.
std::string ceilingsLine(std::string_view device);
/// None if the line is another request.
/// \throws Error  the device is invalid
std::optional<DeviceRequest> parseCeilingsLine(std::string_view line);

std::string pointLine(const PointLine& point); ///< without the line break
/// \throws Error  the line is not a point
PointLine parsePointLine(std::string_view line);

} // namespace tilescope::session

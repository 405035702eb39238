#pragma once

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <vector>

namespace tilescope::bench {

/// The cost of one record for the recording thread, in nanoseconds, and the rate of decoding records.
nlohmann::json hostCosts();

struct StepOptions {
    std::string device = "cuda";
    std::string workload = "lm";
    std::map<std::string, std::string> keys = {}; ///< of the spec, over those of the workload's default here
    int rounds = 12;
    int block = 5; ///< steps in a row with the same setting
    int warmup = 20;
    double drift = 0.03; ///< a round whose bare steps stray further from the median is done again
    std::vector<std::string> settings; ///< of kernels, full, …; see step_costs.cpp
};

/// Step times bare and traced, interleaved in blocks in this process.
nlohmann::json stepCosts(const StepOptions& options);

/// The times of single calls into LibTorch and CUDA on a GPU: bare, traced and after tracing, in nanoseconds.
nlohmann::json deviceCosts();

/// Host memory over many traced steps.
nlohmann::json soak(const StepOptions& options, int steps);

} // namespace tilescope::bench

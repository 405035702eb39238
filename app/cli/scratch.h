#pragma once

#include <filesystem>
#include <string_view>

namespace tilescope::cli {

/// A temporary folder that the destructor removes.
class Scratch {
public:
    /// \throws Error (Environment)  it cannot be created
    Scratch();
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::filesystem::path file(std::string_view name) const { return folder_ / name; }

private:
    std::filesystem::path folder_;
};

} // namespace tilescope::cli

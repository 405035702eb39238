#include "stress_integrity.h"

#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <fstream>
#include <iostream>
#include <random>

namespace tilescope::stress {

namespace {

/// A file whose bytes are changed one at a time.
class ChangedFile {
public:
    explicit ChangedFile(const std::filesystem::path& original) : path_(folder_ / "changed.tscope")
    {
        std::filesystem::copy_file(original, path_);
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
        size_ = static_cast<std::int64_t>(std::filesystem::file_size(path_));
    }

    std::int64_t size() const { return size_; }

    /// Whether verify notices that the byte has another value.
    bool isFound(std::int64_t offset, unsigned change)
    {
        const int before = exchange(offset, -1);
        exchange(offset, before ^ static_cast<int>(change));
        bool found = true;
        try {
            found = !store::verify(path_).ok();
        } catch (const Error&) {
        }
        exchange(offset, before);
        return found;
    }

private:
    /// Returns the byte and, unless `value` is negative, replaces it.
    int exchange(std::int64_t offset, int value)
    {
        std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
        file.seekg(offset);
        const int before = file.get();
        if (value >= 0) {
            file.seekp(offset);
            file.put(static_cast<char>(value));
        }
        return before;
    }

    store::testing::TemporaryFolder folder_;
    std::filesystem::path path_;
    std::int64_t size_ = 0;
};

} // namespace

int byteChanges(const std::filesystem::path& recording, std::int64_t changes, std::uint64_t seed)
{
    ChangedFile file(recording);
    std::mt19937_64 random(seed);
    const auto change = [&random] { return static_cast<unsigned>(1 + random() % 255); };
    std::int64_t found = 0;
    if (changes == 0) {
        std::int64_t all = 0;
        for (std::int64_t offset = 0; std::cin >> offset; ++all) {
            const bool isFound = file.isFound(offset, change());
            found += isFound ? 1 : 0;
            std::cout << offset << ' ' << isFound << '\n';
        }
        std::cerr << found << " of " << all << " changes found\n";
        return 0;
    }
    for (std::int64_t i = 0; i < changes; ++i)
        found += file.isFound(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(file.size())),
                              change());
    std::cout << found << " of " << changes << " changes of a byte found in " << file.size() << " bytes\n";
    return 0;
}

} // namespace tilescope::stress

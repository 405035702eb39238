#include "core/exchange/import/rules/repeated_files.h"

#include "core/base/sha256.h"
#include "core/exchange/import/kineto/inflated_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

/// The bytes of a file's text, by 2^32: what gzip states at the end of a file, otherwise the size.
std::uint32_t textSize(const fs::path& file)
{
    constexpr std::uintmax_t kTrailer = 4;
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    std::ifstream in(file, std::ios::binary);
    std::array<char, 4> bytes{};
    in.read(bytes.data(), 3);
    if (error || size < kTrailer || !isGzip({bytes.data(), 3}))
        return static_cast<std::uint32_t>(size);
    in.seekg(-static_cast<std::streamoff>(kTrailer), std::ios::end);
    in.read(bytes.data(), bytes.size());
    std::uint32_t stated = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        stated |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return stated;
}

/// Of the first `most` bytes of a file's text.
std::string textDigest(const fs::path& file, std::uint64_t most)
{
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    InflatedFile input(file);
    std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, most)), '\0');
    Sha256 sum;
    for (std::uint64_t left = most; left > 0;) {
        const std::size_t got =
            input.read(piece.data(), static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left)));
        if (got == 0)
            break;
        sum.add(std::string_view(piece).substr(0, got));
        left -= got;
    }
    return sum.digest();
}

/// The digests of texts, each read once.
class TextDigests {
public:
    explicit TextDigests(std::uint64_t most) : most_(most) {}

    const std::string& of(const SourceFile& file)
    {
        std::string& digest = known_[&file];
        if (digest.empty())
            digest = textDigest(file.path, most_);
        return digest;
    }

private:
    const std::uint64_t most_;
    std::map<const SourceFile*, std::string> known_;
};

/// `vm` for `vm.xplane.pb`; none for other names.
std::optional<fs::path> stemOf(const fs::path& file, std::string_view ending)
{
    const std::string name = file.string();
    if (!name.ends_with(ending))
        return {};
    return fs::path(name.substr(0, name.size() - ending.size()));
}

/// `rank0.json`, and `ranks.zip, rank0.json` of a file that was unpacked.
std::string nameOf(const SourceFile& file)
{
    const std::string name = file.path.filename().string();
    return file.folder ? file.named.filename().string() + ", " + name : name;
}

} // namespace

std::vector<RepeatedFile> takeRepeatedFiles(std::vector<SourceFile>& files)
{
    std::vector<RepeatedFile> repeated;
    std::map<fs::path, std::string> profiles; // of JAX, by stem
    for (const SourceFile& file : files)
        if (const auto stem = stemOf(file.path, ".xplane.pb"))
            profiles[*stem] = nameOf(file);
    std::map<std::uint32_t, std::vector<const SourceFile*>> bySize;
    // A file of several gzip members states the size of the last one, and traces of ranks may be equally long: most differ soon.
    constexpr std::uint64_t kBeginning = std::uint64_t{1} << 16;
    TextDigests beginnings(kBeginning);
    TextDigests wholes(std::numeric_limits<std::uint64_t>::max());
    std::vector<bool> isRepeated(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string name = nameOf(files[i]);
        for (const std::string_view ending : {".trace.json.gz", ".trace.json"})
            if (const auto stem = stemOf(files[i].path, ending); stem && profiles.contains(*stem)) {
                repeated.push_back({name, profiles[*stem]});
                isRepeated[i] = true;
            }
        if (isRepeated[i])
            continue;
        std::vector<const SourceFile*>& alike = bySize[textSize(files[i].path)];
        for (const SourceFile* earlier : alike)
            if (!isRepeated[i] && beginnings.of(*earlier) == beginnings.of(files[i]) &&
                wholes.of(*earlier) == wholes.of(files[i])) {
                repeated.push_back({name, nameOf(*earlier)});
                isRepeated[i] = true;
            }
        alike.push_back(&files[i]);
    }
    std::vector<SourceFile> kept;
    for (std::size_t i = 0; i < files.size(); ++i)
        if (!isRepeated[i])
            kept.push_back(files[i]);
    files = std::move(kept);
    return repeated;
}

} // namespace tilescope::exchange

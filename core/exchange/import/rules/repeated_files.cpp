#include "core/exchange/import/rules/repeated_files.h"

#include "core/base/sha256.h"
#include "core/exchange/import/kineto/inflated_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
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

std::string textDigest(const fs::path& file)
{
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    InflatedFile input(file);
    std::string piece(kPiece, '\0');
    Sha256 sum;
    while (const std::size_t got = input.read(piece.data(), piece.size()))
        sum.add(std::string_view(piece).substr(0, got));
    return sum.digest();
}

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
    std::map<const SourceFile*, std::string> digests;
    const auto digestOf = [&](const SourceFile& file) -> const std::string& {
        std::string& digest = digests[&file];
        if (digest.empty())
            digest = textDigest(file.path);
        return digest;
    };
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
            if (!isRepeated[i] && digestOf(*earlier) == digestOf(files[i])) {
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

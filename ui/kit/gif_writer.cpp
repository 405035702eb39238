#include "ui/kit/gif_writer.h"

#include "core/base/error.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

namespace tilescope::ui {

namespace {

constexpr int kColours = 256;
constexpr std::uint8_t kTransparent = kColours - 1; // a pixel that stays as it is

int writeBytes(GifFileType* gif, const GifByteType* bytes, int count)
{
    auto& out = *static_cast<std::ostream*>(gif->UserData);
    out.write(reinterpret_cast<const char*>(bytes), count);
    return out ? count : 0;
}

void require(int result, const GifFileType* gif)
{
    if (result == GIF_ERROR)
        throw Error{.what = std::string("cannot write the GIF: ") + GifErrorString(gif->Error),
                    .where = "export",
                    .kind = ErrorKind::Failure};
}

std::vector<QRgb> mostFrequent(const std::vector<QImage>& samples)
{
    std::unordered_map<QRgb, std::int64_t> counts;
    for (const QImage& sample : samples) {
        const QImage image = sample.convertToFormat(QImage::Format_RGB32);
        for (int y = 0; y < image.height(); ++y) {
            const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
            for (int x = 0; x < image.width(); ++x)
                ++counts[line[x]];
        }
    }
    std::vector<std::pair<std::int64_t, QRgb>> order;
    for (const auto& [colour, count] : counts)
        order.emplace_back(-count, colour); // equal counts in the order of the colours
    std::ranges::sort(order);
    order.resize(std::min<std::size_t>(order.size(), kTransparent));
    std::vector<QRgb> palette;
    for (const auto& [count, colour] : order)
        palette.push_back(colour);
    return palette;
}

int distance(QRgb a, QRgb b)
{
    const int red = qRed(a) - qRed(b);
    const int green = qGreen(a) - qGreen(b);
    const int blue = qBlue(a) - qBlue(b);
    return 3 * red * red + 6 * green * green + blue * blue;
}

// The smallest rectangle outside which two images are equal.
QRect changedPart(const QImage& before, const QImage& now)
{
    if (before.isNull())
        return now.rect();
    int left = now.width();
    int right = -1;
    int top = now.height();
    int bottom = -1;
    for (int y = 0; y < now.height(); ++y) {
        const auto* a = reinterpret_cast<const QRgb*>(before.constScanLine(y));
        const auto* b = reinterpret_cast<const QRgb*>(now.constScanLine(y));
        for (int x = 0; x < now.width(); ++x)
            if (a[x] != b[x]) {
                left = std::min(left, x);
                right = std::max(right, x);
                top = std::min(top, y);
                bottom = y;
            }
    }
    return right < 0 ? QRect(0, 0, 1, 1) : QRect(QPoint(left, top), QPoint(right, bottom));
}

} // namespace

GifWriter::GifWriter(std::ostream& out, const QSize& size, const std::vector<QImage>& samples)
    : out_(out), size_(size), palette_(mostFrequent(samples))
{
    int error = 0;
    gif_ = EGifOpen(&out_, writeBytes, &error);
    if (gif_ == nullptr)
        throw Error{.what = std::string("cannot write the GIF: ") + GifErrorString(error),
                    .where = "export",
                    .kind = ErrorKind::Failure};
    writeHeader();
}

GifWriter::~GifWriter()
{
    int error = 0;
    if (gif_ != nullptr)
        EGifCloseFile(gif_, &error);
}

void GifWriter::writeHeader()
{
    EGifSetGifVersion(gif_, true);
    std::array<GifColorType, kColours> colours{};
    for (std::size_t i = 0; i < palette_.size(); ++i)
        colours.at(i) = {GifByteType(qRed(palette_[i])), GifByteType(qGreen(palette_[i])),
                         GifByteType(qBlue(palette_[i]))};
    ColorMapObject* map = GifMakeMapObject(kColours, colours.data());
    const int described = EGifPutScreenDesc(gif_, size_.width(), size_.height(), 8, 0, map);
    GifFreeMapObject(map);
    require(described, gif_);
    // Repeats without end.
    constexpr std::array<GifByteType, 3> kForever{1, 0, 0};
    require(EGifPutExtensionLeader(gif_, APPLICATION_EXT_FUNC_CODE), gif_);
    require(EGifPutExtensionBlock(gif_, 11, "NETSCAPE2.0"), gif_);
    require(EGifPutExtensionBlock(gif_, int(kForever.size()), kForever.data()), gif_);
    require(EGifPutExtensionTrailer(gif_), gif_);
}

std::uint8_t GifWriter::indexOf(QRgb colour)
{
    const auto [found, isNew] = indices_.try_emplace(colour, std::uint8_t{0});
    if (isNew) {
        const auto nearest =
            std::ranges::min_element(palette_, {}, [colour](QRgb each) { return distance(each, colour); });
        found->second = std::uint8_t(nearest - palette_.begin());
    }
    return found->second;
}

void GifWriter::add(const QImage& frame, int hundredths)
{
    const QImage now = frame.convertToFormat(QImage::Format_RGB32);
    const QRect part = changedPart(before_, now);
    GraphicsControlBlock control{};
    control.DisposalMode = DISPOSE_DO_NOT;
    control.DelayTime = hundredths;
    control.TransparentColor = before_.isNull() ? NO_TRANSPARENT_COLOR : kTransparent;
    std::array<GifByteType, 4> extension{};
    EGifGCBToExtension(&control, extension.data());
    require(EGifPutExtension(gif_, GRAPHICS_EXT_FUNC_CODE, int(extension.size()), extension.data()), gif_);
    require(EGifPutImageDesc(gif_, part.left(), part.top(), part.width(), part.height(), false, nullptr),
            gif_);
    std::vector<GifPixelType> row(std::size_t(part.width()));
    for (int y = part.top(); y <= part.bottom(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(now.constScanLine(y));
        const auto* old =
            before_.isNull() ? nullptr : reinterpret_cast<const QRgb*>(before_.constScanLine(y));
        for (int x = part.left(); x <= part.right(); ++x)
            row[std::size_t(x - part.left())] =
                old != nullptr && old[x] == line[x] ? kTransparent : indexOf(line[x]);
        require(EGifPutLine(gif_, row.data(), part.width()), gif_);
    }
    before_ = now;
}

void GifWriter::finish()
{
    int error = 0;
    GifFileType* gif = std::exchange(gif_, nullptr);
    if (EGifCloseFile(gif, &error) == GIF_ERROR)
        throw Error{.what = std::string("cannot write the GIF: ") + GifErrorString(error),
                    .where = "export",
                    .kind = ErrorKind::Failure};
}

} // namespace tilescope::ui

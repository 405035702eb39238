#pragma once

#include <QImage>
#include <QSize>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <unordered_map>
#include <vector>

struct GifFileType;

namespace tilescope::ui {

/// Writes a repeating animated GIF through giflib, frame by frame. Stores only the rectangle of each frame
/// that differs from the previous frame. One thread.
class GifWriter {
public:
    /// \param size     of all frames, at most 65 535 pixels each way
    /// \param samples  frames whose most frequent colours become the 255 of the file; other colours become the nearest
    /// \throws Error   nothing can be written
    GifWriter(std::ostream& out, const QSize& size, const std::vector<QImage>& samples);
    ~GifWriter();
    GifWriter(const GifWriter&) = delete;
    GifWriter& operator=(const GifWriter&) = delete;

    /// \param hundredths  of a second that it stays
    void add(const QImage& frame, int hundredths);
    /// Writes the end of the file.
    void finish();

private:
    std::uint8_t indexOf(QRgb colour);
    void writeHeader();

    std::ostream& out_;
    QSize size_;
    std::vector<QRgb> palette_;
    std::unordered_map<QRgb, std::uint8_t> indices_; ///< of the colours met so far
    QImage before_;                                  ///< the last frame
    GifFileType* gif_ = nullptr;
};

} // namespace tilescope::ui

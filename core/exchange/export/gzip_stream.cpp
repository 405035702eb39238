#include "core/exchange/export/gzip_stream.h"

#include <zlib.h>

#include <array>
#include <new>

namespace tilescope::exchange {

class GzipStream::Buffer : public std::streambuf {
public:
    explicit Buffer(std::ostream& out) : out_(out)
    {
        constexpr int kGzip = 16; // added to the size of the window: with gzip's header
        constexpr int kMemory = 8;
        // The fastest level: even so, the text of a trace shrinks to a tenth.
        if (deflateInit2(&zip_, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
            Z_OK)
            throw std::bad_alloc();
        setp(text_.data(), text_.data() + text_.size());
    }
    ~Buffer() override { deflateEnd(&zip_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool compress(int flush)
    {
        zip_.next_in = reinterpret_cast<Bytef*>(text_.data());
        zip_.avail_in = static_cast<uInt>(pptr() - pbase());
        do {
            zip_.next_out = reinterpret_cast<Bytef*>(zipped_.data());
            zip_.avail_out = static_cast<uInt>(zipped_.size());
            deflate(&zip_, flush);
            out_.write(zipped_.data(), static_cast<std::streamsize>(zipped_.size() - zip_.avail_out));
        } while (zip_.avail_out == 0);
        setp(text_.data(), text_.data() + text_.size());
        return out_.good();
    }

protected:
    int_type overflow(int_type c) override
    {
        if (!compress(Z_NO_FLUSH))
            return traits_type::eof();
        if (traits_type::eq_int_type(c, traits_type::eof()))
            return traits_type::not_eof(c);
        return sputc(traits_type::to_char_type(c));
    }

private:
    static constexpr std::size_t kSize = 1 << 16;

    std::ostream& out_;
    z_stream zip_{};
    std::array<char, kSize> text_{};
    std::array<char, kSize> zipped_{};
};

GzipStream::GzipStream(std::ostream& out) : buffer_(std::make_unique<Buffer>(out)), stream_(buffer_.get()) {}

GzipStream::~GzipStream() = default;

std::ostream& GzipStream::stream()
{
    return stream_;
}

void GzipStream::finish()
{
    buffer_->compress(Z_FINISH);
}

} // namespace tilescope::exchange

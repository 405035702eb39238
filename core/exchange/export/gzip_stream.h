#pragma once

#include <memory>
#include <ostream>
#include <streambuf>

namespace tilescope::exchange {

/// A stream whose output is compressed as gzip and written to another stream. One thread.
class GzipStream {
public:
    explicit GzipStream(std::ostream& out);
    ~GzipStream();
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    std::ostream& stream();
    /// Writes the end of the compressed data; without it the file is not complete.
    void finish();

private:
    class Buffer;
    std::unique_ptr<Buffer> buffer_;
    std::ostream stream_;
};

} // namespace tilescope::exchange

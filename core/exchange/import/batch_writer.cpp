#include "core/exchange/import/batch_writer.h"

#include "core/store/run_writer.h"

#include <utility>

namespace tilescope::exchange {

BatchWriter::BatchWriter(store::RunWriter& writer)
    : thread_([this, &writer] {
          try {
              while (const auto batch = batches_.pop())
                  if (!dropped_.load())
                      writer.write(*batch);
          } catch (...) {
              failure_ = std::current_exception();
              batches_.close();
          }
      })
{
}

BatchWriter::~BatchWriter()
{
    dropped_ = true;
    batches_.close();
    if (thread_.joinable())
        thread_.join();
}

void BatchWriter::write(TraceBatch&& batch)
{
    // Only the thread's failure closes the queue before finish(), which throws it.
    if (!batches_.push(std::move(batch)))
        finish();
}

void BatchWriter::finish()
{
    batches_.close();
    if (thread_.joinable())
        thread_.join();
    if (failure_)
        std::rethrow_exception(failure_);
}

} // namespace tilescope::exchange

#include "core/engine/common/side_stream.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>

namespace tilescope::engine {

namespace {

// Bounds the memory of operands. The current stream rarely waits: both streams have about the same work.
constexpr std::size_t kMostPending = 8;

} // namespace

struct SideStream::Impl {
    struct Pending {
        std::vector<at::Tensor> operands;
        at::cuda::CUDAEvent done;
    };

    Impl(c10::DeviceIndex device, bool isUrgent) : stream(c10::cuda::getStreamFromPool(isUrgent, device)) {}

    void freeOldest()
    {
        pending.front().done.block(c10::cuda::getCurrentCUDAStream(stream.device_index()));
        pending.pop_front();
    }

    c10::cuda::CUDAStream stream;
    std::deque<Pending> pending; // work whose operands are kept
    at::cuda::CUDAEvent last;    // recorded after the last work
    bool isBusy = false;         // whether there is work since the last join
};

SideStream::SideStream(at::Device device, Priority priority)
{
    if (device.is_cuda())
        impl_ = std::make_unique<Impl>(device.index(), priority == Priority::Urgent);
}

SideStream::~SideStream() = default;

void SideStream::run(std::vector<at::Tensor> operands, const std::function<void()>& work)
{
    if (!impl_)
        return work();
    if (impl_->pending.size() == kMostPending)
        impl_->freeOldest();
    at::cuda::CUDAEvent ready;
    ready.record();
    ready.block(impl_->stream);
    const c10::cuda::CUDAStreamGuard onSide(impl_->stream);
    work();
    if (!operands.empty()) {
        Impl::Pending& entry = impl_->pending.emplace_back();
        entry.operands = std::move(operands);
        entry.done.record();
    }
    impl_->last.record();
    impl_->isBusy = true;
}

void SideStream::join()
{
    if (!impl_ || !impl_->isBusy)
        return;
    impl_->last.block(c10::cuda::getCurrentCUDAStream(impl_->stream.device_index()));
    impl_->pending.clear();
    impl_->isBusy = false;
}

} // namespace tilescope::engine

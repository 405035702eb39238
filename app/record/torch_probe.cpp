#include "app/record/torch_probe.h"

#include "app/record/find_function.h"
#include "core/trace/host/host_log.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <memory>

namespace tilescope::record {

namespace {

// at::sequence_number::peek(), at::RecordFunction::currentThreadId() and torch::autograd::get_current_node(),
// whose result is a std::shared_ptr.
constexpr const char* kPeek = "_ZN2at15sequence_number4peekEv";
constexpr const char* kThread = "_ZN2at14RecordFunction15currentThreadIdEv";
constexpr const char* kNode = "_ZN5torch8autograd16get_current_nodeEv";

// Of torch::autograd::Node, from its first byte: the virtual table and a weak pointer to itself come first; the
// topological number and a flag lie between the two.
constexpr std::size_t kSequenceOffset = 24;
constexpr std::size_t kThreadOffset = 48;

std::uint64_t (*peek)() = nullptr;
std::uint64_t (*threadNumber)() = nullptr;
std::shared_ptr<void> (*currentNode)() = nullptr;

std::atomic<bool> layoutConfirmed{false};
std::atomic<std::uint64_t> expectedSequence{0};
std::atomic<std::uint64_t> expectedThread{0};

std::uint64_t nextSequence() noexcept
{
    return peek();
}

std::uint64_t logicalThread() noexcept
{
    return threadNumber();
}

trace::AutogradProbe::Node nodeNow() noexcept
{
    const std::shared_ptr<void> node = currentNode();
    if (!node)
        return {};
    trace::AutogradProbe::Node found{.identity = node.get()};
    const char* bytes = static_cast<const char*>(node.get());
    std::memcpy(&found.sequence, bytes + kSequenceOffset, sizeof(found.sequence));
    std::memcpy(&found.thread, bytes + kThreadOffset, sizeof(found.thread));
    return found;
}

trace::AutogradProbe::Node runningNode() noexcept
{
    if (!layoutConfirmed.load(std::memory_order_relaxed))
        return {};
    return nodeNow();
}

bool load()
{
    void* torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (!torch)
        return false;
    if (!findFunction(peek, kPeek, torch) || !findFunction(threadNumber, kThread, torch) ||
        !findFunction(currentNode, kNode, torch))
        return false;
    trace::HostLogs::instance().setProbe(
        {.nextSequence = &nextSequence, .thread = &logicalThread, .running = &runningNode});
    return true;
}

} // namespace

bool findTorch()
{
    static const bool found = load();
    return found;
}

void expectNode(std::uint64_t sequence) noexcept
{
    if (!threadNumber)
        return;
    expectedSequence.store(sequence, std::memory_order_relaxed);
    expectedThread.store(threadNumber(), std::memory_order_relaxed);
}

void expectNextNode() noexcept
{
    if (peek)
        expectNode(peek());
}

void confirmNode() noexcept
{
    if (!currentNode || layoutConfirmed.load(std::memory_order_relaxed))
        return;
    const trace::AutogradProbe::Node node = nodeNow();
    if (node.identity && node.sequence == expectedSequence.load(std::memory_order_relaxed) &&
        node.thread == expectedThread.load(std::memory_order_relaxed))
        layoutConfirmed.store(true, std::memory_order_relaxed);
}

} // namespace tilescope::record

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

/// The first members of torch::autograd::Node.
struct NodeHead {
    const void* virtualTable;
    const void* self; ///< a std::weak_ptr
    const void* selfCount;
    std::uint64_t sequence;
    std::uint64_t topological;
    std::uint64_t flag;
    std::uint64_t thread;
};

NodeHead headOf(const void* node) noexcept
{
    NodeHead head{};
    std::memcpy(&head, node, sizeof(head));
    return head;
}

std::uint64_t (*peek)() = nullptr;
std::uint64_t (*threadNumber)() = nullptr;
std::shared_ptr<void> (*currentNode)() = nullptr;

std::atomic<bool> layoutConfirmed{false};

std::uint64_t nextSequence() noexcept
{
    return peek();
}

std::uint64_t logicalThread() noexcept
{
    return threadNumber();
}

trace::AutogradProbe::Node runningNode() noexcept
{
    if (!layoutConfirmed.load(std::memory_order_relaxed))
        return {};
    const std::shared_ptr<void> node = currentNode();
    if (!node)
        return {};
    const NodeHead head = headOf(node.get());
    return {.identity = node.get(), .sequence = head.sequence, .thread = head.thread};
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

bool checkNode(const void* object, std::size_t headerBytes, std::uint64_t sequence) noexcept
{
    if (!currentNode || layoutConfirmed.load(std::memory_order_relaxed))
        return true;
    struct {
        const void* node;
        const void* count;
    } shared{};
    std::memcpy(&shared, static_cast<const char*>(object) + headerBytes, sizeof(shared));
    if (!shared.node)
        return false;
    const NodeHead head = headOf(shared.node);
    const std::uint64_t expected = sequence == kLatestNode ? peek() - 1 : sequence;
    if (head.self != shared.node || head.selfCount != shared.count || head.sequence != expected ||
        head.thread != threadNumber())
        return false;
    layoutConfirmed.store(true, std::memory_order_relaxed);
    return true;
}

} // namespace tilescope::record

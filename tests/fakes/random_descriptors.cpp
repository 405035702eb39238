// A program that closes, reuses and duplicates its descriptors at random, while threads use NVTX. What it prints depends on
// the seed alone: whoever else uses its descriptors, or keeps one of them open, changes it.
//
// With `refuse` the system lets no thread have a table of descriptors of its own, as a container may.
//
// usage: random_descriptors SEED ROUNDS FOLDER [refuse]

#include <nvtx3/nvToolsExt.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

namespace {

constexpr int kThreads = 2;
constexpr int kSlots = 16;     // numbers of descriptors that a thread owns
constexpr int kFirstSlot = 64; // those below are for new ones
constexpr int kLastNumber = 256;
constexpr int kForkEvery = 64; // rounds

std::string folder;
std::atomic<std::uint64_t> wrong{0};

void require(bool holds, const char* what)
{
    if (holds)
        return;
    ++wrong;
    std::fprintf(stderr, "wrong: %s (errno %d)\n", what, errno);
}

/// Opens a file at a number of the calling thread's.
void openAt(int slot, const std::string& path)
{
    const int low = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(low >= 0 && dup2(low, slot) == slot, "open");
    close(low);
}

std::string contents(const std::string& path)
{
    std::string text(4096, '\0');
    const int file = open(path.c_str(), O_RDONLY);
    const ssize_t got = read(file, text.data(), text.size());
    close(file);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
}

/// Writes through a pipe and reads it to its end, which comes only once every copy of the writing end is closed.
void usePipe(int firstSlot)
{
    std::array<int, 2> ends{};
    require(pipe(ends.data()) == 0, "pipe");
    dup2(ends[0], firstSlot);
    dup2(ends[1], firstSlot + 1);
    close(ends[0]);
    close(ends[1]);
    require(write(firstSlot + 1, "text", 4) == 4, "write to a pipe");
    close(firstSlot + 1);
    std::array<char, 16> text{};
    require(read(firstSlot, text.data(), text.size()) == 4, "read from a pipe");
    require(read(firstSlot, text.data(), text.size()) == 0, "end of a pipe");
    close(firstSlot);
}

/// One round of a thread, with its own numbers of descriptors.
void useDescriptors(int thread, std::mt19937& random)
{
    const int first = kFirstSlot + thread * kSlots;
    const std::string path = folder + "/file" + std::to_string(thread);
    nvtxRangePushA("step");
    for (int i = 0; i < 8; ++i) {
        nvtxRangePushA("forward");
        const int slot = first + static_cast<int>(random() % kSlots);
        const std::string text(1 + random() % 64, static_cast<char>('a' + random() % 26));
        openAt(slot, path);
        const int copy = first + static_cast<int>(random() % kSlots);
        require(dup2(slot, copy) == copy, "dup2");
        require(write(copy, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
        close(slot);
        if (copy != slot && random() % 2 == 0)
            close(copy);
        require(contents(path) == text, "what the file holds");
        close(slot); // once more, as programs do by mistake
        nvtxRangePop();
    }
    usePipe(first);
    nvtxRangePop();
}

void forkOne(bool isRecorded)
{
    const pid_t child = fork();
    if (child == 0) {
        if (isRecorded) {
            nvtxRangePushA("child");
            openAt(kFirstSlot, folder + "/child");
            require(write(kFirstSlot, "child", 5) == 5, "write of a child");
            for (int number = 3; number < kLastNumber; ++number)
                close(number);
            require(contents(folder + "/child") == "child", "what the child's file holds");
            nvtxRangePop();
        }
        if (wrong == 0 && isRecorded)
            std::exit(0);
        _exit(wrong == 0 ? 0 : 1);
    }
    int status = 0;
    require(waitpid(child, &status, 0) == child && status == 0, "fork");
}

/// From now on close_range() and unshare() fail in this process.
void refuseTables()
{
    constexpr unsigned kCloseRange = 436;
    std::array<sock_filter, 5> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kCloseRange, 1, 0),
                                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0,
            "seccomp");
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4)
        return 2;
    const auto seed = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    const long rounds = std::strtol(argv[2], nullptr, 10);
    folder = argv[3];
    if (argc > 4)
        refuseTables();
    std::mt19937 random(seed);
    // A child that is forked while another thread makes NVTX's first call waits for that thread for ever.
    nvtxRangePushA("start");
    nvtxRangePop();
    for (long round = 0; round < rounds; ++round) {
        std::array<std::thread, kThreads> threads;
        for (int thread = 0; thread < kThreads; ++thread)
            threads[thread] = std::thread([thread, start = random()] {
                std::mt19937 own(start);
                useDescriptors(thread, own);
            });
        if (round % kForkEvery == 0)
            forkOne(round % (2 * kForkEvery) == 0);
        for (std::thread& thread : threads)
            thread.join();
        for (int number = 3; number < kLastNumber; ++number)
            close(number);
        // Whatever took one of the numbers would get this.
        openAt(kFirstSlot, folder + "/kept");
        require(write(kFirstSlot, "kept", 4) == 4, "write");
        for (int number = 3; number < kFirstSlot; ++number)
            require(fcntl(number, F_GETFD) < 0, "a number that nobody uses");
        require(contents(folder + "/kept") == "kept", "what the kept file holds");
    }
    std::printf("%ld rounds, %llu wrong\n", rounds, static_cast<unsigned long long>(wrong.load()));
    return wrong == 0 ? 0 : 1;
}

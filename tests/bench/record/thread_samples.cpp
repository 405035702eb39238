// Samples where the threads of a process spend processor time, by perf_event_open(2), until it gets SIGINT. A sampler of its own, because
// machines with a GPU often lack perf.
//
// usage: thread_samples PID HERTZ
//
// Prints a line for each sample: the thread's name, the file of the code ("[kernel]" for the kernel's) and its offset in that file,
// hexadecimal, separated by tabs. Exit status 1, with a reason, where the kernel refuses. tests/gpu/record/where.py adds the samples up.

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBufferBytes = 16 * kPage;

volatile std::sig_atomic_t ends = 0;

struct Sample {
    std::uint64_t address = 0; ///< 0: in the kernel
    std::size_t thread = 0;
};

struct Thread {
    std::string name;
    int event = -1;
    perf_event_mmap_page* control = nullptr;
};

struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    std::string file;
};

int openEvent(int thread, std::uint64_t hertz, bool withKernel)
{
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE; // a virtual machine may have no counters of the processor
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.freq = 1;
    attributes.sample_freq = hertz;
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = withKernel ? 0 : 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, -1, -1, 0));
}

Thread follow(int thread, std::uint64_t hertz, std::string name)
{
    Thread found{.name = std::move(name), .event = openEvent(thread, hertz, true)};
    if (found.event < 0)
        found.event = openEvent(thread, hertz, false);
    if (found.event < 0)
        return found;
    void* memory = mmap(nullptr, kPage + kBufferBytes, PROT_READ | PROT_WRITE, MAP_SHARED, found.event, 0);
    if (memory == MAP_FAILED)
        found.event = -1;
    else
        found.control = static_cast<perf_event_mmap_page*>(memory);
    return found;
}

/// Moves what the kernel has written for a thread into `samples`.
void take(const Thread& thread, std::size_t number, std::vector<Sample>& samples)
{
    const char* data = reinterpret_cast<const char*>(thread.control) + kPage;
    const std::uint64_t head = std::atomic_ref(thread.control->data_head).load(std::memory_order_acquire);
    std::uint64_t tail = thread.control->data_tail;
    const auto copy = [&](void* to, std::uint64_t from, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            static_cast<char*>(to)[i] = data[(from + i) % kBufferBytes];
    };
    while (tail < head) {
        perf_event_header header{};
        copy(&header, tail, sizeof(header));
        if (header.size == 0)
            break;
        if (header.type == PERF_RECORD_SAMPLE) {
            Sample sample{.thread = number};
            copy(&sample.address, tail + sizeof(header), sizeof(sample.address));
            if ((header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
                sample.address = 0;
            samples.push_back(sample);
        }
        tail += header.size;
    }
    std::atomic_ref(thread.control->data_tail).store(tail, std::memory_order_release);
}

/// What the process can execute, by address.
std::vector<Mapping> mappingsOf(const std::string& process)
{
    std::vector<Mapping> found;
    std::ifstream lines(process + "/maps");
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string range;
        std::string access;
        std::string offset;
        std::string skipped;
        Mapping mapping;
        words >> range >> access >> offset >> skipped >> skipped >> mapping.file;
        if (access.size() < 3 || access[2] != 'x')
            continue;
        mapping.begin = std::stoull(range, nullptr, 16);
        mapping.end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
        mapping.offset = std::stoull(offset, nullptr, 16);
        if (mapping.file.empty())
            mapping.file = "[anonymous]";
        found.push_back(std::move(mapping));
    }
    return found;
}

void print(const Sample& sample, const std::string& thread, const std::vector<Mapping>& mappings)
{
    if (sample.address == 0) {
        std::printf("%s\t[kernel]\t0\n", thread.c_str());
        return;
    }
    const auto after = std::ranges::upper_bound(mappings, sample.address, std::less<>(), &Mapping::begin);
    if (after == mappings.begin() || sample.address >= std::prev(after)->end) {
        std::printf("%s\t[unknown]\t%lx\n", thread.c_str(), static_cast<unsigned long>(sample.address));
        return;
    }
    const Mapping& mapping = *std::prev(after);
    std::printf("%s\t%s\t%lx\n", thread.c_str(), mapping.file.c_str(),
                static_cast<unsigned long>(sample.address - mapping.begin + mapping.offset));
}

} // namespace

int main(int count, char** words)
{
    const std::uint64_t hertz = count == 3 ? std::strtoull(words[2], nullptr, 10) : 0;
    const int pid = count == 3 ? std::atoi(words[1]) : 0;
    if (pid <= 0 || hertz == 0) {
        std::cerr << "usage: thread_samples PID HERTZ\n";
        return 2;
    }
    struct sigaction action {};
    action.sa_handler = [](int) { ends = 1; };
    sigaction(SIGINT, &action, nullptr);
    const std::string process = "/proc/" + std::to_string(pid);
    std::vector<Thread> threads;
    std::error_code failed;
    for (const auto& each : std::filesystem::directory_iterator(process + "/task", failed)) {
        std::string name;
        std::getline(std::ifstream(each.path() / "comm") >> std::ws, name);
        Thread thread = follow(std::atoi(each.path().filename().c_str()), hertz, std::move(name));
        if (thread.event < 0) {
            std::cerr << "thread_samples: the kernel refuses to sample process " << pid << ": "
                      << std::strerror(errno) << '\n';
            return 1;
        }
        threads.push_back(std::move(thread));
    }
    if (threads.empty()) {
        std::cerr << "thread_samples: there is no process " << pid << '\n';
        return 1;
    }
    std::vector<Sample> samples;
    const auto takeAll = [&] {
        for (std::size_t i = 0; i < threads.size(); ++i)
            take(threads[i], i, samples);
    };
    while (!ends) {
        usleep(5000);
        takeAll();
    }
    for (const Thread& thread : threads)
        ioctl(thread.event, PERF_EVENT_IOC_DISABLE, 0);
    takeAll();
    const std::vector<Mapping> mappings = mappingsOf(process);
    for (const Sample& sample : samples)
        print(sample, threads[sample.thread].name, mappings);
    return 0;
}

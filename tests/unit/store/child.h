#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace tilescope::store::testing {

/// A process of its own, forked from the test: what is to be killed, refused or starved.
class Child {
public:
    /// Runs `work` in the child with a descriptor to write to; the child ends when it returns, without
    /// running this process' destructors.
    explicit Child(const std::function<void(int)>& work)
    {
        int ends[2];
        if (pipe(ends) != 0 || (pid_ = fork()) < 0)
            throw std::runtime_error("cannot fork");
        if (pid_ == 0) {
            close(ends[0]);
            alarm(60); // a test that hangs ends
            try {
                work(ends[1]);
            } catch (...) {
                _exit(97); // never back into the test's own process
            }
            _exit(0);
        }
        close(ends[1]);
        from_ = ends[0];
    }
    ~Child()
    {
        kill();
        close(from_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const { return pid_; }

    /// The next line that the child wrote; empty where it ended.
    std::string line()
    {
        std::string text;
        char c = 0;
        while (read(from_, &c, 1) == 1 && c != '\n')
            text += c;
        return text;
    }

    void kill()
    {
        if (!waited_)
            ::kill(pid_, SIGKILL);
        wait();
    }

    /// Exit status, or minus the signal.
    int wait()
    {
        if (waited_)
            return status_;
        int status = 0;
        waitpid(pid_, &status, 0);
        waited_ = true;
        return status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }

private:
    pid_t pid_ = 0;
    int from_ = -1;
    bool waited_ = false;
    int status_ = 0;
};

inline void say(int descriptor, const std::string& line)
{
    const std::string text = line + "\n";
    if (write(descriptor, text.data(), text.size()) < 0)
        _exit(99);
}

} // namespace tilescope::store::testing

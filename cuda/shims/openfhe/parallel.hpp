// Independent pieces of work on a fixed number of threads.
#ifndef CKKS_OPENFHE_PARALLEL_HPP
#define CKKS_OPENFHE_PARALLEL_HPP

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ckks_openfhe {

// Calls work(i) for 0 <= i < count. The first exception of any thread is thrown again here.
template <typename Work>
void parallel_for(unsigned threads, std::size_t count, const Work &work) {
    if (threads <= 1 || count <= 1) {
        for (std::size_t i = 0; i < count; i++) {
            work(i);
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_lock;
    const auto run = [&] {
        try {
            for (std::size_t i = next++; i < count; i = next++) {
                work(i);
            }
        } catch (...) {
            next = count;
            const std::lock_guard<std::mutex> guard(failure_lock);
            if (failure == nullptr) {
                failure = std::current_exception();
            }
        }
    };
    std::vector<std::thread> pool;
    try {
        for (unsigned i = 1; i < threads && i < count; i++) {
            pool.emplace_back(run);
        }
    } catch (...) {
        // Fewer threads than wished for: this one does the rest.
    }
    run();
    for (std::thread &thread : pool) {
        thread.join();
    }
    if (failure != nullptr) {
        std::rethrow_exception(failure);
    }
}

}  // namespace ckks_openfhe

#endif

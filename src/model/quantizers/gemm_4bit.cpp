// bitsandbytes 0.50.2, backends/cuda/ops.py: bitsandbytes::gemm_4bit and _gemm_4bit_use_custom_cuda, branch by branch.
#include "model/quantizers/gemm_4bit.hpp"

namespace vramfit::model {

namespace {

/// What the branches look at. The thresholds are the library's calibration, not ours.
struct Shape {
    std::int64_t m = 0;         ///< tokens
    std::int64_t n = 0;         ///< out features
    std::int64_t k = 0;         ///< in features
    std::int64_t sms = 0;       ///< multiprocessors
    std::int64_t n_blocks = 0;  ///< tiles of 64 out features
    bool a100 = false;          ///< 8.0
    bool hopper = false;        ///< 9.x
    bool turing = false;        ///< 7.5
    bool hbm() const { return a100 || hopper; }
    bool tall() const { return k > n * 2; }
};

bool small_short_k(const Shape& s) {
    if (s.hbm()) {
        const bool low_wave = s.n_blocks * 3 < s.sms;
        if (s.a100) return s.m <= (low_wave ? 1536 : 512);
        return s.m <= (low_wave ? 512 : 320);
    }
    if (s.turing) {
        if (s.n_blocks >= s.sms * 3) return s.m <= 320;
        if (s.k >= 1024) return s.m <= 64;
        if (s.k >= 704) return s.m <= 96;
        return s.m <= 320;
    }
    if (s.n_blocks >= s.sms) return s.m <= 320;
    return s.m <= (s.n_blocks * s.k > s.sms * 320 ? 192 : 320);
}

/// Weights of less than 4 Mi elements.
bool small_weight(const Shape& s) {
    if (s.k * 2 < s.n) return small_short_k(s);
    const bool quarter_wave = s.n_blocks * 4 <= s.sms;
    if (s.a100 && quarter_wave) {
        if (s.k >= s.n) return s.m <= (s.n_blocks * 8 <= s.sms ? 32 : 128);
        return s.m <= 384;
    }
    if (s.turing && s.n_blocks < s.sms && s.m > 8) return s.m <= 64;
    if (quarter_wave) return s.m <= (s.k < s.n || s.hbm() ? 32 : 23);
    if (s.n_blocks * 2 <= s.sms) return s.m <= 16;
    return false;
}

/// 5 to 7 rows.
bool few_rows(const Shape& s) {
    const std::int64_t threshold = s.hopper ? 36 : 48;
    if (!s.hbm() || s.m < 6 || s.n_blocks < threshold) return true;
    const bool below_75_percent = s.n_blocks * 4 < s.sms * 3;
    const bool below_60_percent = s.n_blocks * 5 < s.sms * 3;
    if (s.k > s.n && below_75_percent) return false;
    if (s.k == s.n && s.a100 && below_60_percent) return false;
    if (s.k == s.n && s.hopper && below_75_percent && !below_60_percent) return false;
    return true;
}

bool on_turing(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= (s.k < s.n ? 128 : 64);
    return s.m <= (s.n_blocks >= s.sms / 2 ? 64 : 32);
}

bool on_a100(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= 128;
    if (s.n_blocks >= s.sms) return s.m <= (s.k < s.n ? 64 : 32);
    if (s.k >= s.n * 3 && s.n_blocks * 4 > s.sms) return false;
    if (s.k == s.n && s.n_blocks >= 48 && s.n_blocks * 5 < s.sms * 3) return false;
    if (s.n_blocks * 2 < s.sms) {
        if (s.k <= s.n) return s.m <= 128;
        if (s.n_blocks * 3 >= s.sms) return false;
    }
    if (s.n_blocks >= s.sms / 2 && s.k < s.n) return s.m <= 128;
    return s.m <= 16;
}

bool on_sm86(const Shape& s) {
    if (s.n_blocks >= s.sms) return s.m <= 128;
    return s.m <= (s.n_blocks >= s.sms / 2 ? 64 : 16);
}

bool on_hopper(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= 64;
    if (s.n_blocks >= s.sms * 2) return s.m <= 48;
    if (s.n_blocks >= s.sms) return s.m <= 32;
    if (s.n_blocks < s.sms / 2) return false;
    if (s.k >= s.n && s.n_blocks * 4 < s.sms * 3) return false;
    return s.m <= 16;
}

bool on_sm120(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= 256;
    if (s.n_blocks >= s.sms * 2) return s.m <= 128;
    if (s.n_blocks * 5 >= s.sms * 4) return s.m <= (s.k >= s.n ? 96 : 64);
    if (s.n_blocks >= s.sms) return s.m <= 64;
    if (s.n_blocks >= s.sms / 2) return s.m <= (s.k * 2 >= s.n && s.n_blocks >= 128 ? 64 : 8);
    return s.m <= (s.tall() && s.n_blocks > 64 ? 16 : 8);
}

/// 8.9 and whatever has no ladder of its own.
bool on_others(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= 256;
    if (s.n_blocks >= s.sms * 2) return s.m <= 128;
    if (s.n_blocks * 5 >= s.sms * 4) {
        if (s.tall() || s.n_blocks >= 200) return s.m <= 128;
        if (s.k >= s.n) return s.m <= (s.sms >= 60 ? 128 : 32);
        return s.m <= 64;
    }
    if (s.n_blocks >= s.sms / 2) {
        if (s.tall()) return s.m <= 64;
        return s.m <= (s.n_blocks >= 64 ? 8 : 32);
    }
    if (s.k > s.n && s.n_blocks <= 48) return s.m <= (s.k >= s.n * 3 ? 12 : 10);
    return s.m <= (s.tall() || s.n_blocks < 48 ? 16 : 8);
}

bool on_blackwell_server(const Shape& s) {
    if (s.n_blocks >= s.sms * 3) return s.m <= 32;
    if (s.n_blocks >= s.sms) return s.k < s.n && s.m <= 8;
    return false;
}

/// _gemm_4bit_use_custom_cuda.
bool worth_it(const Capability& on, DType dtype, const Shape& s) {
    constexpr std::int64_t kFloor = 4;
    if (s.m <= kFloor) return true;
    if (dtype == DType::float32 || on.major < 7) return s.m < 8;
    if (on.major == 7 && (on.minor < 5 || dtype != DType::float16)) return s.m < 8;
    if ((on.major == 8 && on.minor == 7) || on.major == 11) return false;
    if (on.major == 10) return on_blackwell_server(s);
    if (s.n * s.k < 4 * 1024 * 1024) return small_weight(s);
    if (s.m > 512) return false;
    if (s.m < 8) return few_rows(s);
    if (s.turing) return on_turing(s);
    if (s.a100) return on_a100(s);
    if (on == Capability{8, 6}) return on_sm86(s);
    if (s.hopper) return on_hopper(s);
    if (on == Capability{12, 1} && s.n_blocks >= s.sms) return s.m <= 256;
    if (on == Capability{12, 0}) return on_sm120(s);
    return on_others(s);
}

std::int64_t unpacks(const void* context, std::span<const std::int64_t> a) {
    const Device& device = *static_cast<const Device*>(context);
    const std::int64_t m = a[0], n = a[1], k = a[2];
    constexpr std::int64_t kMostRows = 1536;  // _gemm_4bit_custom_max_m
    constexpr std::int64_t kBlock = 64;       // blocksize of quantize_4bit
    if (m > kMostRows || k % kBlock != 0) return 1;
    Shape s{m, n, k, device.multiprocessors, (n + 63) / 64};
    s.a100 = device.capability == Capability{8, 0};
    s.hopper = device.capability.major == 9;
    s.turing = device.capability == Capability{7, 5};
    return !worth_it(device.capability, static_cast<DType>(a[3]), s);
}

}  // namespace

Size unpacks_4bit(const Device& device, DType dtype, Size m, Size n, Size k) {
    return apply_choice({unpacks, "unpacks_4bit"}, &device, {m, n, k, static_cast<int>(dtype)});
}

}  // namespace vramfit::model

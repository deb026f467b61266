// CHECK: an assertion that stays in the release.
//
// For invariants whose breach would store wrong data, lose an acknowledged write or let a caller in
// who must stay out. The process ends with a sentence, and a restart finds every acknowledged
// write. It costs a comparison. Return an Error for everything else, and wherever a bad request or
// a damaged file can be the cause; use assert() for faults that only tests should notice.
#pragma once

namespace stator {

// Says which invariant is broken, where, and ends the process. Does not allocate.
[[noreturn]] void EndBrokenInvariant(const char* sentence, const char* condition, const char* file,
                                     int line);

}  // namespace stator

// Ends the process unless `condition` holds. `sentence` is a literal that says what is wrong.
#define CHECK(condition, sentence)                                            \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::stator::EndBrokenInvariant(sentence, #condition, __FILE__, __LINE__); \
  } while (false)

#include "base/count_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace stator {
namespace {

TEST(CountBytes, CountsAsALoopDoes) {
  SeededRandom random(5);
  for (size_t size : {0u, 1u, 15u, 16u, 17u, 255u, 4079u, 4080u, 4081u, 4096u, 10'000u}) {
    std::string text(size, ' ');
    for (char& c : text) c = static_cast<char>(random.Below(256));
    size_t control = 0, marks = 0;
    for (const char c : text) {
      control += static_cast<unsigned char>(c) < 0x20 ? 1 : 0;
      marks += c == '"' || c == '\\' ? 1 : 0;
    }
    EXPECT_EQ(CountBytes(text, [](auto c) { return c < uint8_t{0x20}; }), control) << size;
    EXPECT_EQ(CountBytes(text, [](auto c) { return (c == uint8_t{'"'}) | (c == uint8_t{'\\'}); }),
              marks)
        << size;
    EXPECT_EQ(CountBytes(std::string(size, '\x01'), [](auto c) { return c < uint8_t{0x20}; }),
              size);
  }
}

}  // namespace
}  // namespace stator

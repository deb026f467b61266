#include "bulk/fake.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstdint>

namespace stator::bulk {
namespace {

constexpr std::array<std::string_view, 32> kFirstNames = {
    "Ada",  "Ben",   "Clara", "David", "Elena", "Felix",  "Grace", "Hugo",
    "Ines", "Jonas", "Karla", "Leo",   "Maria", "Nils",   "Olga",  "Paul",
    "Rosa", "Simon", "Tara",  "Ugo",   "Vera",  "Walter", "Xenia", "Yann",
    "Zoe",  "Anton", "Berta", "Cyril", "Dora",  "Emil",   "Frida", "Georg"};
constexpr std::array<std::string_view, 32> kLastNames = {
    "Adler",   "Berger", "Costa",  "Dahl",   "Evans", "Fischer", "Garcia", "Haas",
    "Ivanov",  "Jensen", "Keller", "Lang",   "Meyer", "Novak",   "Olsen",  "Peters",
    "Quint",   "Rossi",  "Silva",  "Turner", "Urban", "Vogel",   "Weber",  "Young",
    "Ziegler", "Bauer",  "Conti",  "Dubois", "Ek",    "Ferrari", "Gruber", "Horvat"};
constexpr std::string_view kSeparators = " -+().,:/@_";

// Endless bytes that the hash decides.
class Bytes {
 public:
  explicit Bytes(const access::Digest& hash) : block_(hash) {}
  uint8_t Next() {
    if (used_ == block_.size()) {
      block_ = access::Sha256(access::AsText(block_));
      used_ = 0;
    }
    return block_[used_++];
  }
  char Digit(bool zero_allowed) {
    const int digits = zero_allowed ? 10 : 9;
    return static_cast<char>('0' + (zero_allowed ? 0 : 1) + Next() % digits);
  }

 private:
  access::Digest block_;
  size_t used_ = 0;
};

}  // namespace

std::string FakeName(const access::Digest& hash) {
  return fmt::format("{} {}", kFirstNames[hash[0] % kFirstNames.size()],
                     kLastNames[hash[1] % kLastNames.size()]);
}

std::string FakeEmail(const access::Digest& hash) {
  std::string name = FakeName(hash);
  for (char& c : name) {
    c = c == ' ' ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return fmt::format("{}.{}@example.com", name, access::Hex(access::AsText(hash).substr(2, 8)));
}

std::string FakePhone(const access::Digest& hash) {
  Bytes bytes(hash);
  std::string phone = "+1555";
  for (int i = 0; i < 8; ++i) phone.push_back(bytes.Digit(true));
  return phone;
}

std::string FakeDigits(std::string_view text, const access::Digest& hash) {
  Bytes bytes(hash);
  std::string out;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  bool first = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      const bool edge = first || i + 1 == text.size();
      out.push_back(bytes.Digit(c == '0' || !edge));
      first = false;
    } else if (kSeparators.find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back(static_cast<char>('a' + bytes.Next() % 26));
    }
  }
  return out;
}

std::string HashNumber(const access::Digest& hash) {
  Bytes bytes(hash);
  std::string out(1, bytes.Digit(false));
  while (out.size() < 30) out.push_back(bytes.Digit(true));
  return out;
}

}  // namespace stator::bulk

// Rules that take personal data out of items before anything is written.
//
//   secret-file = "mask.key"          # of hash and fake; beside the rules unless absolute
//   [[mask]]
//   path = "address.street"           # names with dots; "[]" is every element: "cards[].number";
//   do = "hash"                       # or an array of names: ["a.b", "[]"]
//   [[mask]]
//   path = "email"
//   do = "fake"                       # drop, hash, constant, fake
//   as = "email"                      # of fake: name, email, phone, digits
//   [[mask]]
//   path = "note"
//   do = "constant"
//   value = "masked"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/key_schema.h"
#include "model/node.h"
#include "model/value.h"

namespace stator::bulk {

// Immutable, so it may be used by several threads.
class Mask {
 public:
  // Reads the rules from a file, and the secret that they name. kValidation, with file and line,
  // for an invalid rule.
  static Result<Mask> Load(const std::string& path);
  // `secret` is that of hash and fake; `file` is for messages.
  static Result<Mask> Parse(std::string_view rules, std::string secret, const std::string& file);

  // Returns kValidation if a rule would remove a key attribute or make different keys equal.
  Status CheckKeys(const model::KeySchema& key) const;
  // Returns the item with all rules applied in their order. An attribute that is not there is not
  // made.
  std::string Apply(model::ItemView item) const;
  // Returns a text that is equal for equal rules and secret. It does not reveal the secret.
  const std::string& fingerprint() const { return fingerprint_; }
  // Returns 32 bytes that are derived from the secret; empty without a secret.
  std::string SealKey() const;
  bool empty() const { return rules_.empty(); }

  enum class Action : uint8_t { kDrop, kHash, kConstant, kFake };
  enum class Fake : uint8_t { kName, kEmail, kPhone, kDigits };

 private:
  struct Rule {
    std::vector<std::string> path;
    Action action = Action::kDrop;
    Fake fake = Fake::kName;
    std::string constant;  // an encoded value
  };
  // Applies a rule to the value to which the rest of its path, from `step` on, leads. Returns true
  // if the caller must remove the value.
  bool Apply(const Rule& rule, size_t step, model::Node* node) const;
  std::string Masked(const Rule& rule, model::ValueView value) const;

  std::vector<Rule> rules_;
  std::string secret_;
  std::string fingerprint_;
};

}  // namespace stator::bulk

#include "triggers/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/ascii.h"

namespace stator::triggers {
namespace {

using simdjson::dom::element;

constexpr int kMostDepth = 20;

Error Wrong(const std::string& path, std::string_view why) {
  return ValidationError(
      fmt::format("Invalid filter pattern definition. {}: {}", path.empty() ? "$" : path, why));
}

std::optional<double> NumberOf(element json) {
  if (!json.is_number()) return std::nullopt;
  double number = 0;
  if (json.get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}

struct Choice {
  enum Kind {
    kText,
    kNumber,
    kTrue,
    kFalse,
    kNull,
    kPrefix,
    kSuffix,
    kIgnoringCase,
    kExists,
    kAbsent,
    kAnythingBut,
    kRange,
  };
  Kind kind = kNull;
  bool ignores_case = false;  // of kPrefix and kSuffix
  std::string text;
  double number = 0;
  // kRange: low <= x <= high, without the bounds that are open.
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  std::vector<Choice> but;  // kAnythingBut
};

// The texts of one operator (equals, prefix or suffix) in a form in which one search tells whether
// any of them matches a text.
class Words {
 public:
  enum Kind { kWhole, kPrefix, kSuffix };
  Words(Kind kind, bool ignores_case) : kind_(kind), ignores_case_(ignores_case) {}

  void Add(std::string text) {
    if (kind_ == kSuffix) std::reverse(text.begin(), text.end());
    if (ignores_case_) text = LowerAscii(text);
    keys_.push_back(std::move(text));
  }
  // After the last Add.
  void Finish() {
    std::sort(keys_.begin(), keys_.end());
    std::vector<std::string> kept;
    for (std::string& key : keys_) {
      // A longer prefix adds nothing to a shorter one that it begins with. Then at most one prefix
      // can fit a text: the last that is not behind the text.
      const bool covered =
          !kept.empty() && (kind_ == kWhole ? key == kept.back() : key.starts_with(kept.back()));
      if (!covered) kept.push_back(std::move(key));
    }
    keys_ = std::move(kept);
  }
  bool empty() const { return keys_.empty(); }
  bool Has(std::string_view text) const {
    const auto behind = std::upper_bound(
        keys_.begin(), keys_.end(), text,
        [this](std::string_view one, const std::string& key) { return Compare(one, key) < 0; });
    if (behind == keys_.begin()) return false;
    const std::string& key = *std::prev(behind);
    if (kind_ == kWhole ? key.size() != text.size() : key.size() > text.size()) return false;
    return CommonHead(text, key) == key.size();
  }

 private:
  char At(std::string_view text, size_t place) const {
    const char c = kind_ == kSuffix ? text[text.size() - 1 - place] : text[place];
    return ignores_case_ ? LowerAscii(c) : c;
  }
  size_t CommonHead(std::string_view text, const std::string& key) const {
    const size_t most = std::min(text.size(), key.size());
    size_t same = 0;
    while (same < most && At(text, same) == key[same]) ++same;
    return same;
  }
  int Compare(std::string_view text, const std::string& key) const {
    const size_t same = CommonHead(text, key);
    if (same == text.size()) return same == key.size() ? 0 : -1;
    if (same == key.size()) return 1;
    return static_cast<unsigned char>(At(text, same)) < static_cast<unsigned char>(key[same]) ? -1
                                                                                              : 1;
  }

  Kind kind_;
  bool ignores_case_;
  std::vector<std::string> keys_;  // as At gives their bytes
};

// Choices of which a leaf may be one, but for "anything-but" and "exists".
struct Values {
  std::vector<Words> words = {{Words::kWhole, false},  {Words::kWhole, true},
                              {Words::kPrefix, false}, {Words::kPrefix, true},
                              {Words::kSuffix, false}, {Words::kSuffix, true}};
  std::vector<double> numbers;  // sorted
  std::vector<Choice> ranges;
  bool truth = false, falsity = false, null = false;

  void Add(Choice choice) {
    switch (choice.kind) {
      case Choice::kText: return words[0].Add(std::move(choice.text));
      case Choice::kIgnoringCase: return words[1].Add(std::move(choice.text));
      case Choice::kPrefix: return words[choice.ignores_case ? 3 : 2].Add(std::move(choice.text));
      case Choice::kSuffix: return words[choice.ignores_case ? 5 : 4].Add(std::move(choice.text));
      case Choice::kNumber: return numbers.push_back(choice.number);
      case Choice::kRange: return ranges.push_back(std::move(choice));
      case Choice::kTrue: truth = true; return;
      case Choice::kFalse: falsity = true; return;
      case Choice::kNull: null = true; return;
      case Choice::kExists:
      case Choice::kAbsent:
      case Choice::kAnythingBut: return;
    }
  }
  void Finish() {
    for (Words& each : words) each.Finish();
    std::erase_if(words, [](const Words& each) { return each.empty(); });
    std::sort(numbers.begin(), numbers.end());
  }
  // The searches that one leaf takes.
  size_t cost() const { return std::max(words.size(), 1 + ranges.size()); }

  bool Has(element leaf) const {
    std::string_view text;
    if (leaf.get(text) == simdjson::SUCCESS) {
      return std::any_of(words.begin(), words.end(),
                         [text](const Words& each) { return each.Has(text); });
    }
    if (const std::optional<double> number = NumberOf(leaf)) {
      if (std::binary_search(numbers.begin(), numbers.end(), *number)) return true;
      return std::any_of(ranges.begin(), ranges.end(), [number](const Choice& range) {
        return (range.low_open ? *number > range.low : *number >= range.low) &&
               (range.high_open ? *number < range.high : *number <= range.high);
      });
    }
    bool flag = false;
    if (leaf.get(flag) == simdjson::SUCCESS) return flag ? truth : falsity;
    return null && leaf.is_null();
  }
};

// The choices of a name, as they are searched.
struct Rule {
  Values values;
  std::vector<Values> buts;  // one for each "anything-but"
  bool exists = false, absent = false;

  explicit Rule(std::vector<Choice> choices) {
    for (Choice& choice : choices) {
      exists = exists || choice.kind == Choice::kExists;
      absent = absent || choice.kind == Choice::kAbsent;
      if (choice.kind == Choice::kAnythingBut) {
        Values& but = buts.emplace_back();
        for (Choice& each : choice.but) but.Add(std::move(each));
      } else {
        values.Add(std::move(choice));
      }
    }
    values.Finish();
    for (Values& but : buts) but.Finish();
  }
  size_t cost() const {
    size_t cost = values.cost();
    for (const Values& but : buts) cost += but.cost();
    return cost;
  }
  // Whether a leaf of the record matches.
  bool Has(element leaf) const {
    return exists || values.Has(leaf) ||
           std::any_of(buts.begin(), buts.end(),
                       [leaf](const Values& but) { return !but.Has(leaf); });
  }
};

// Counts what matching takes.
class Counter {
 public:
  Counter(uint64_t* steps, FunctionRef<bool()> goes_on) : steps_(steps), goes_on_(goes_on) {}
  // False: matching is to end.
  bool Spend(size_t steps) {
    *steps_ += steps;
    since_ += steps;
    if (since_ < kStepsBetweenLooks) return !stopped_;
    since_ = 0;
    stopped_ = stopped_ || !goes_on_();
    return !stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  static constexpr size_t kStepsBetweenLooks = 16'384;
  uint64_t* const steps_;
  const FunctionRef<bool()> goes_on_;
  size_t since_ = 0;
  bool stopped_ = false;
};

bool MatchesRule(const Rule& rule, const element* found, Counter* counter) {
  // "exists" looks at leaves only: an object is none.
  if (found == nullptr || found->is_object()) return rule.absent;
  const size_t cost = rule.cost();
  simdjson::dom::array elements;
  if (found->get(elements) != simdjson::SUCCESS) return counter->Spend(cost) && rule.Has(*found);
  for (const element each : elements) {
    if (!counter->Spend(cost)) return false;
    if (!each.is_object() && !each.is_array() && rule.Has(each)) return true;
  }
  return false;
}

}  // namespace

struct Pattern::Node {
  struct Member {
    std::string name;
    std::optional<Rule> rule;  // none: `below`
    std::shared_ptr<const Node> below;

    size_t cost() const { return rule ? rule->cost() : below->cost; }
  };
  std::vector<Member> members;                      // by name
  std::vector<std::shared_ptr<const Node>> either;  // of "$or"
  // How often matching looks at one value of a record, at most.
  size_t cost = 0;

  // After the last member. Names lead to different values, and what "$or" lists to the same ones.
  void Finish() {
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.name < b.name; });
    for (const Member& member : members) cost = std::max(cost, 1 + member.cost());
    for (const auto& each : either) cost += each->cost;
  }
};

namespace {

using Node = Pattern::Node;

// Reads patterns. `path` is where it is, for errors.
class Reader {
 public:
  Result<std::shared_ptr<const Node>> Read(element json, const std::string& path, int depth) {
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Wrong(path, "expected an object");
    if (depth > kMostDepth)
      return Wrong(path, fmt::format("more than {} objects in each other", kMostDepth));
    auto node = std::make_shared<Node>();
    for (const auto& [key, value] : object) {
      const std::string name(key);
      const std::string where = path.empty() ? name : path + "." + name;
      if (name == "$or" && IsListOfObjects(value)) {
        TRY(ReadEither(value, where, depth, node.get()));
        continue;
      }
      Node::Member member{name, std::nullopt, nullptr};
      if (value.is_object()) {
        ASSIGN_OR_RETURN(member.below, Read(value, where, depth + 1));
      } else {
        ASSIGN_OR_RETURN(std::vector<Choice> choices, ReadRule(value, where));
        member.rule = Rule(std::move(choices));
      }
      const auto same = [&name](const Node::Member& each) { return each.name == name; };
      std::erase_if(node->members, same);
      node->members.push_back(std::move(member));
    }
    if (node->members.empty() && node->either.empty())
      return Wrong(path, "an empty object matches nothing");
    node->Finish();
    return std::shared_ptr<const Node>(std::move(node));
  }

 private:
  static bool IsListOfObjects(element json) {
    simdjson::dom::array list;
    if (json.get(list) != simdjson::SUCCESS || list.size() == 0) return false;
    return std::all_of(list.begin(), list.end(), [](element each) { return each.is_object(); });
  }

  Status ReadEither(element json, const std::string& path, int depth, Node* node) {
    node->either.clear();
    simdjson::dom::array list = json.get_array().value();
    if (list.size() < 2) return Wrong(path, "expected at least two objects");
    for (const element each : list) {
      ASSIGN_OR_RETURN(std::shared_ptr<const Node> one, Read(each, path, depth + 1));
      node->either.push_back(std::move(one));
    }
    return OkStatus();
  }

  Result<std::vector<Choice>> ReadRule(element json, const std::string& path) {
    simdjson::dom::array list;
    if (json.get(list) != simdjson::SUCCESS)
      return Wrong(path, "expected an object, or an array of values");
    if (list.size() == 0) return Wrong(path, "an empty array matches nothing");
    std::vector<Choice> rule;
    for (const element each : list) {
      ASSIGN_OR_RETURN(Choice choice, ReadChoice(each, path));
      rule.push_back(std::move(choice));
    }
    const auto is_range = [](const Choice& choice) { return choice.kind == Choice::kRange; };
    // The numbers of items are strings in records: {"N":"42"}.
    if (OfItem(path) && std::all_of(rule.begin(), rule.end(), is_range)) {
      return Wrong(path,
                   "it can match no record: numbers of items are strings there, so \"numeric\" "
                   "does not match them; list the values as strings");
    }
    return rule;
  }

  static bool OfItem(const std::string& path) {
    return (path.starts_with("dynamodb.Keys.") || path.starts_with("dynamodb.NewImage.") ||
            path.starts_with("dynamodb.OldImage.")) &&
           (path.ends_with(".N") || path.ends_with(".NS"));
  }

  static std::optional<Choice> ReadValue(element json) {
    Choice choice;
    std::string_view text;
    bool flag = false;
    if (json.get(text) == simdjson::SUCCESS) {
      choice.kind = Choice::kText;
      choice.text = text;
    } else if (const std::optional<double> number = NumberOf(json)) {
      choice.kind = Choice::kNumber;
      choice.number = *number;
    } else if (json.get(flag) == simdjson::SUCCESS) {
      choice.kind = flag ? Choice::kTrue : Choice::kFalse;
    } else if (json.is_null()) {
      choice.kind = Choice::kNull;
    } else {
      return std::nullopt;
    }
    return choice;
  }

  Result<Choice> ReadChoice(element json, const std::string& path) {
    if (std::optional<Choice> value = ReadValue(json)) return *std::move(value);
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Wrong(path, "an array in an array");
    if (object.size() != 1) return Wrong(path, "expected one operator in each object");
    const auto [key, operand] = *object.begin();
    const std::string_view name = key;
    if (name == "exists") {
      bool wanted = false;
      if (operand.get(wanted) != simdjson::SUCCESS)
        return Wrong(path, "\"exists\" takes true or false");
      Choice choice;
      choice.kind = wanted ? Choice::kExists : Choice::kAbsent;
      return choice;
    }
    if (name == "numeric") return ReadRange(operand, path);
    if (name == "anything-but") return ReadBut(operand, path);
    return ReadText(name, operand, path);
  }

  // Reads an operator on text.
  Result<Choice> ReadText(std::string_view name, element operand, const std::string& path) {
    Choice choice;
    if (name == "prefix") {
      choice.kind = Choice::kPrefix;
    } else if (name == "suffix") {
      choice.kind = Choice::kSuffix;
    } else if (name == "equals-ignore-case") {
      choice.kind = Choice::kIgnoringCase;
    } else {
      return Wrong(path, fmt::format("there is no operator \"{}\"", name));
    }
    std::string_view text;
    simdjson::dom::object nested;
    if (choice.kind != Choice::kIgnoringCase && operand.get(nested) == simdjson::SUCCESS &&
        nested.size() == 1 && (*nested.begin()).key == std::string_view("equals-ignore-case")) {
      choice.ignores_case = true;
      operand = (*nested.begin()).value;
    }
    if (operand.get(text) != simdjson::SUCCESS)
      return Wrong(path, fmt::format("\"{}\" takes a string", name));
    choice.text = text;
    return choice;
  }

  Result<Choice> ReadBut(element operand, const std::string& path) {
    Choice choice;
    choice.kind = Choice::kAnythingBut;
    simdjson::dom::object object;
    if (operand.get(object) == simdjson::SUCCESS) {
      if (object.size() != 1) return Wrong(path, "expected one operator in \"anything-but\"");
      const auto [key, texts] = *object.begin();
      TRY(AddBut(texts, path, &choice, [&, name = std::string_view(key)](element each) {
        return ReadText(name, each, path);
      }));
      return choice;
    }
    TRY(AddBut(operand, path, &choice, [&path](element each) -> Result<Choice> {
      std::optional<Choice> value = ReadValue(each);
      if (!value || (value->kind != Choice::kText && value->kind != Choice::kNumber))
        return Wrong(path, "\"anything-but\" takes strings and numbers");
      return *std::move(value);
    }));
    return choice;
  }

  template <typename ReadOne>
  Status AddBut(element operand, const std::string& path, Choice* choice, ReadOne read_one) {
    simdjson::dom::array list;
    if (operand.get(list) != simdjson::SUCCESS) {
      ASSIGN_OR_RETURN(Choice one, read_one(operand));
      choice->but.push_back(std::move(one));
      return OkStatus();
    }
    if (list.size() == 0) return Wrong(path, "\"anything-but\" takes at least one value");
    for (const element each : list) {
      ASSIGN_OR_RETURN(Choice one, read_one(each));
      choice->but.push_back(std::move(one));
    }
    return OkStatus();
  }

  Result<Choice> ReadRange(element operand, const std::string& path) {
    Choice choice;
    choice.kind = Choice::kRange;
    simdjson::dom::array list;
    if (operand.get(list) != simdjson::SUCCESS || (list.size() != 2 && list.size() != 4))
      return Wrong(path, "\"numeric\" takes an operator and a number, or two of each");
    bool low = false, high = false;
    for (size_t at = 0; at < list.size(); at += 2) {
      std::string_view op;
      const std::optional<double> number = NumberOf(list.at(at + 1).value());
      if (list.at(at).get(op) != simdjson::SUCCESS || !number)
        return Wrong(path, "\"numeric\" takes an operator and a number, or two of each");
      if (op == "=" && list.size() == 2) {
        choice.low = choice.high = *number;
      } else if ((op == ">" || op == ">=") && !low) {
        low = true;
        choice.low = *number;
        choice.low_open = op == ">";
      } else if ((op == "<" || op == "<=") && !high) {
        high = true;
        choice.high = *number;
        choice.high_open = op == "<";
      } else {
        return Wrong(path, fmt::format("\"{}\" does not fit in \"numeric\"", op));
      }
    }
    if (choice.low > choice.high ||
        (choice.low == choice.high && (choice.low_open || choice.high_open)))
      return Wrong(path, "it can match no record: the range of \"numeric\" is empty");
    return choice;
  }
};

bool MatchesNode(const Node& node, const element* found, Counter* counter) {
  const std::vector<Node::Member>& members = node.members;
  std::vector<std::optional<element>> values(members.size());
  simdjson::dom::object object;
  if (!members.empty() && found != nullptr && found->get(object) == simdjson::SUCCESS) {
    // Once through the object, however many names there are: it may have many more.
    size_t missing = members.size();
    for (const auto& [key, value] : object) {
      if (!counter->Spend(1)) return false;
      const auto at = std::lower_bound(
          members.begin(), members.end(), key,
          [](const Node::Member& member, std::string_view name) { return member.name < name; });
      if (at == members.end() || at->name != key) continue;
      std::optional<element>& place = values[static_cast<size_t>(at - members.begin())];
      if (place) continue;
      place = value;
      if (--missing == 0) break;
    }
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const element* const value = values[i] ? &*values[i] : nullptr;
    const bool matches = members[i].below != nullptr
                             ? MatchesNode(*members[i].below, value, counter)
                             : MatchesRule(*members[i].rule, value, counter);
    if (!matches) return false;
  }
  if (node.either.empty()) return true;
  return std::any_of(node.either.begin(), node.either.end(), [found, counter](const auto& each) {
    return MatchesNode(*each, found, counter);
  });
}

}  // namespace

Result<Pattern> Pattern::Parse(std::string_view text) {
  if (text.size() > kMostPatternBytes)
    return Wrong("", fmt::format("it is longer than {} bytes", kMostPatternBytes));
  simdjson::dom::parser parser;
  element json;
  const simdjson::padded_string padded(text);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS) return Wrong("", "it is no JSON");
  Reader reader;
  ASSIGN_OR_RETURN(std::shared_ptr<const Node> root, reader.Read(json, "", 1));
  if (root->cost > kMostPatternCost) {
    return Wrong("",
                 fmt::format("it looks at a value up to {} times, and {} is the most: use fewer "
                             "\"$or\", \"anything-but\" and \"numeric\"",
                             root->cost, kMostPatternCost));
  }
  return Pattern(std::move(root));
}

std::optional<bool> Pattern::Matches(element record, uint64_t* steps,
                                     FunctionRef<bool()> goes_on) const {
  Counter counter(steps, goes_on);
  const bool matches = MatchesNode(*root_, &record, &counter);
  if (counter.stopped()) return std::nullopt;
  return matches;
}

}  // namespace stator::triggers

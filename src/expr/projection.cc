#include "expr/projection.h"

#include "expr/bind.h"
#include "expr/item_paths.h"
#include "expr/parse.h"

namespace stator::expr {

namespace {

using model::Type;
using model::ValueView;

constexpr std::string_view kParameter = "ProjectionExpression";

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Copies what a trie selects. Recursion is as deep as paths are, at most 32.
class Projector {
 public:
  explicit Projector(const Tree& tree, const PathTrie& trie) : tree_(tree), trie_(trie) {}

  // Appends the selected entries of `map`, each with its name, and returns how many.
  size_t Entries(model::MapView map, const PathTrie::Node& node, std::string* out) const {
    size_t count = 0;
    const PathTrie::Node* child = trie_.begin(node);
    const PathTrie::Node* const end = trie_.end(node);
    if (child == end || child->step.is_index) return 0;
    for (const auto& entry : map) {
      const std::string_view name = entry.name;
      int order = -1;
      while (child != end && (order = tree_.Name(child->step).compare(name)) < 0) ++child;
      if (child == end) break;
      if (order > 0) continue;
      if (child->is_leaf()) {
        AppendEntry(out, entry);
        ++count;
      } else {
        const size_t before = out->size();
        model::AppendName(out, name);
        if (Part(entry.value, *child, out)) {
          ++count;
        } else {
          out->resize(before);
        }
      }
      ++child;
    }
    return count;
  }

 private:
  // Appends the selected part of a map or list; false if there is none.
  bool Part(ValueView value, const PathTrie::Node& node, std::string* out) const {
    std::string parts;
    size_t count = 0;
    if (value.type() == Type::kM) {
      count = Entries(value.map(), node, &parts);
      if (count > 0) model::AppendMap(out, count, parts);
    } else if (value.type() == Type::kL) {
      count = Elements(value.list(), node, &parts);
      if (count > 0) model::AppendList(out, count, parts);
    }
    return count > 0;
  }

  size_t Elements(model::ListView list, const PathTrie::Node& node, std::string* out) const {
    size_t count = 0;
    const PathTrie::Node* child = trie_.begin(node);
    const PathTrie::Node* const end = trie_.end(node);
    if (child == end || !child->step.is_index) return 0;
    uint32_t index = 0;
    for (const ValueView element : list) {
      if (child == end) break;
      if (child->step.begin == index) {
        if (child->is_leaf()) {
          out->append(element.encoded());
          ++count;
        } else if (Part(element, *child, out)) {
          ++count;
        }
        ++child;
      }
      ++index;
    }
    return count;
  }

  const Tree& tree_;
  const PathTrie& trie_;
};

std::string ProjectOutputs(const ProjectionTree& projection, model::ItemView item) {
  std::string entries;
  size_t count = 0;
  ItemPaths paths(projection.tree, item);
  for (const ProjectionTree::Output& output : projection.outputs) {
    const ValueView value = paths.Find(projection.tree.nodes[output.path]);
    if (value.empty()) continue;
    model::AppendName(&entries, output.name);
    entries.append(value.encoded());
    ++count;
  }
  std::string out;
  model::AppendItem(&out, count, entries);
  return out;
}

}  // namespace

void AppendEntry(std::string* out, const model::MapView::Entry& entry) {
  const size_t head = VarintBytes(entry.name.size() << 1);
  const char* begin = entry.name.data() - head;
  out->append(begin, static_cast<size_t>(entry.value.end() - begin));
}

std::string ProjectPaths(const Tree& tree, const PathTrie& trie, model::ItemView item,
                         size_t* count) {
  std::string entries;
  *count =
      item.exists() ? Projector(tree, trie).Entries(item.attributes(), trie.root(), &entries) : 0;
  std::string out;
  model::AppendItem(&out, *count, entries);
  return out;
}

Result<Projection> ParseProjection(std::string_view text, Substitutions* subs) {
  auto projection = std::make_shared<ProjectionTree>();
  ASSIGN_OR_RETURN(projection->paths, ParseProjectionText(kParameter, text, &projection->tree));
  TRY(BindProjection(kParameter, projection->paths, subs, &projection->tree));
  TRY(BuildPathTrie(kParameter, projection->tree, projection->paths, &projection->trie));
  return Projection(std::move(projection));
}

std::string Project(const Projection& projection, model::ItemView item) {
  if (!projection.present()) return std::string(item.encoded());
  if (!projection.tree()->outputs.empty()) return ProjectOutputs(*projection.tree(), item);
  size_t count = 0;
  return ProjectPaths(projection.tree()->tree, projection.tree()->trie, item, &count);
}

std::vector<std::string> TopLevelAttributes(const Projection& projection) {
  if (!projection.present()) return {};
  TopLevelNames names(projection.tree()->tree);
  for (const NodeId path : projection.tree()->paths) names.Add(projection.tree()->tree.nodes[path]);
  return names.Take();
}

}  // namespace stator::expr

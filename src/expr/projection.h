// What is behind a Projection.
#pragma once

#include "expr/expr.h"
#include "expr/path_trie.h"

namespace stator::expr {

struct ProjectionTree {
  Tree tree;
  std::vector<NodeId> paths;
  PathTrie trie;
  // For PartiQL: the top-level attributes of the projected item, by names, which are sorted and
  // unique; `path` is what each of them gets. Empty: projected values keep their place in the
  // document.
  struct Output {
    std::string name;
    NodeId path;
  };
  std::vector<Output> outputs;
};

// Appends the name and value of a map entry as they stand in the encoding.
void AppendEntry(std::string* out, const model::MapView::Entry& entry);

// Returns the encoded item of those parts of `item` that `trie` selects. Sets *count to the number
// of its top-level attributes.
std::string ProjectPaths(const Tree& tree, const PathTrie& trie, model::ItemView item,
                         size_t* count);

}  // namespace stator::expr

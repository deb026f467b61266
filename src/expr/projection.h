// What is behind a Projection.
#pragma once

#include "expr/expr.h"
#include "expr/path_trie.h"

namespace stator::expr {

struct ProjectionTree {
  Tree tree;
  std::vector<NodeId> paths;
  PathTrie trie;
  // PartiQL: what is projected becomes top-level attributes of these names, which are sorted and
  // unique. Empty: it stays where it was.
  struct Output {
    std::string name;
    NodeId path;
  };
  std::vector<Output> outputs;
};

// Appends the name and value of a map entry as they stand in the encoding.
void AppendEntry(std::string* out, const model::MapView::Entry& entry);

// The encoded item made of what `trie` selects of `item`; *count is the number of its top-level
// attributes.
std::string ProjectPaths(const Tree& tree, const PathTrie& trie, model::ItemView item,
                         size_t* count);

}  // namespace stator::expr

package dev.stator.junit;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Finds the program. */
final class Binary {
  private Binary() {}

  /** Returns `given`, else STATOR_BIN, else `stator` of the PATH. Throws a sentence where there is none. */
  static String find(String given) {
    return find(given, System.getenv());
  }

  static String find(String given, Map<String, String> environment) {
    if (given != null && !given.isBlank()) return given.strip();
    String named = environment.getOrDefault("STATOR_BIN", "");
    if (!named.isEmpty()) return named;
    for (String directory : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
      Path candidate = Path.of(directory.isEmpty() ? "." : directory, "stator");
      if (Files.isRegularFile(candidate) && Files.isExecutable(candidate)) return candidate.toString();
    }
    throw new StatorException("There is no binary of Stator: install its package, name it by stator.binary or STATOR_BIN, "
        + "or name a server that runs by stator.endpoint or STATOR_ENDPOINT.");
  }
}

package dev.stator.junit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs classes of tests as a user's build does, in this JVM. */
final class Run {
  /** Names of the tests that passed, with their class where that is nested. */
  final List<String> passed = new CopyOnWriteArrayList<>();
  /** Why tests and classes failed, by name. */
  final Map<String, Throwable> failed = new ConcurrentSkipListMap<>();

  private Run() {}

  /** `onFailure` is run at each failure, while other tests may run. */
  static Run of(Map<String, String> parameters, Runnable onFailure, Class<?>... classes) {
    Map<String, String> all = new TreeMap<>(Map.of("stator.endpoint", "", "junit.jupiter.testclass.order.default",
        "org.junit.jupiter.api.ClassOrderer$ClassName"));
    all.putAll(parameters);
    LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
        .selectors(Arrays.stream(classes).map(one -> selectClass(one)).toList()).configurationParameters(all).build();
    Run run = new Run();
    LauncherFactory.create().execute(request, new TestExecutionListener() {
      @Override
      public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
          run.failed.put(identifier.getDisplayName(), result.getThrowable().orElseThrow());
          onFailure.run();
        } else if (identifier.isTest()) {
          run.passed.add(identifier.getDisplayName());
        }
      }
    });
    return run;
  }

  static Run of(Map<String, String> parameters, Class<?>... classes) {
    return of(parameters, () -> {}, classes);
  }

  /** Parameters of a run whose classes, and methods if `methods`, run at the same time. */
  static Map<String, String> inParallel(boolean methods) {
    return Map.of("junit.jupiter.execution.parallel.enabled", "true",
        "junit.jupiter.execution.parallel.mode.default", methods ? "concurrent" : "same_thread",
        "junit.jupiter.execution.parallel.mode.classes.default", "concurrent",
        "junit.jupiter.execution.parallel.config.strategy", "fixed",
        "junit.jupiter.execution.parallel.config.fixed.parallelism", "8");
  }

  void assertPassed(int count) {
    if (!failed.isEmpty()) throw new AssertionError("failed: " + failed, failed.values().iterator().next());
    if (passed.size() != count) throw new AssertionError(passed.size() + " passed instead of " + count + ": " + passed);
  }

  /** Returns the words of a failure and of those that JUnit hung to it. */
  String words(String name) {
    Throwable failure = failed.get(name);
    if (failure == null) throw new AssertionError(name + " has not failed; failed: " + failed + "; passed: " + passed);
    StringBuilder words = new StringBuilder(String.valueOf(failure.getMessage()));
    for (Throwable one = failure.getCause(); one != null; one = one.getCause()) words.append('\n').append(one.getMessage());
    for (Throwable one : failure.getSuppressed()) words.append('\n').append(one.getMessage());
    return words.toString();
  }
}

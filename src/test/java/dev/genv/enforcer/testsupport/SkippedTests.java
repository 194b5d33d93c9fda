package dev.genv.enforcer.testsupport;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Element;

/** Prints in one line which tests a build has skipped and how to enable them; the build runs it at its end. */
public final class SkippedTests {
    private static final Pattern REQUIREMENT = Pattern.compile("needs ([^:]+): (.+)");

    private SkippedTests() {}

    /** The beginning of the build, and the folders of its reports. */
    public static void main(String... arguments) throws Exception {
        var begin = FileTime.from(Instant.parse(arguments[0]));
        var reports = new ArrayList<Path>();
        for (var folder : List.of(arguments).subList(1, arguments.length)) {
            reports.addAll(reportsSince(begin, Path.of(folder)));
        }
        System.out.println(summary(reports));
    }

    static String summary(List<Path> reports) throws Exception {
        var counts = new TreeMap<String, Integer>();
        for (var report : reports) {
            var skipped = DocumentBuilderFactory.newDefaultInstance()
                    .newDocumentBuilder()
                    .parse(report.toFile())
                    .getElementsByTagName("skipped");
            for (var i = 0; i < skipped.getLength(); i++) {
                if (skipped.item(i) instanceof Element element) {
                    counts.merge(reason(element), 1, Integer::sum);
                }
            }
        }
        return counts.isEmpty()
                ? "Skipped: no test"
                : "Skipped: "
                        + counts.entrySet().stream()
                                .sorted(Map.Entry.<String, Integer>comparingByValue()
                                        .reversed())
                                .map(entry -> "%d %s".formatted(entry.getValue(), entry.getKey()))
                                .collect(Collectors.joining(", "));
    }

    /** Surefire writes the reason of a disabled test into an attribute, and that of an aborted test into a stack trace. */
    private static String reason(Element skipped) {
        var words = (skipped.getAttribute("message") + skipped.getTextContent()).strip();
        var firstLine = words.lines().findFirst().orElse("no reason");
        var requirement = REQUIREMENT.matcher(firstLine);
        return requirement.find()
                ? "for want of %s (%s)".formatted(requirement.group(1), requirement.group(2))
                : "(%s)".formatted(firstLine);
    }

    /** The folders can contain reports of an earlier build. */
    private static List<Path> reportsSince(FileTime begin, Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        var reports = new ArrayList<Path>();
        try (var files = Files.newDirectoryStream(folder, "TEST-*.xml")) {
            for (var file : files) {
                if (Files.getLastModifiedTime(file).compareTo(begin) >= 0) {
                    reports.add(file);
                }
            }
        }
        return reports;
    }
}

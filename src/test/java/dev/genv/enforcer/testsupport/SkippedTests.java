package dev.genv.enforcer.testsupport;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
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

    /** The beginning of the build, and the folders of its reports, which can contain reports of an earlier build. */
    public static void main(String... arguments) throws Exception {
        var begin = FileTime.from(Instant.parse(arguments[0]));
        var counts = new TreeMap<String, Integer>();
        for (var folder : List.of(arguments).subList(1, arguments.length)) {
            if (Files.isDirectory(Path.of(folder))) {
                try (var reports = Files.newDirectoryStream(Path.of(folder), "TEST-*.xml")) {
                    for (var report : reports) {
                        if (Files.getLastModifiedTime(report).compareTo(begin) >= 0) {
                            count(report, counts);
                        }
                    }
                }
            }
        }
        var all = counts.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
                .map(entry -> "%d %s".formatted(entry.getValue(), entry.getKey()))
                .collect(Collectors.joining(", "));
        System.out.println("Skipped: " + (all.isEmpty() ? "no test" : all));
    }

    private static void count(Path report, Map<String, Integer> counts) throws Exception {
        var skipped = DocumentBuilderFactory.newDefaultInstance()
                .newDocumentBuilder()
                .parse(report.toFile())
                .getElementsByTagName("skipped");
        for (var i = 0; i < skipped.getLength(); i++) {
            counts.merge(reason((Element) skipped.item(i)), 1, Integer::sum);
        }
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
}
